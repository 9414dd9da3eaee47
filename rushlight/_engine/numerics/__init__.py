"""Functions of NumPy arrays: special functions, random numbers, indexing and sums, to PyTorch's last bit."""
