"""Functions of NumPy arrays: special functions, random numbers, indexing and sums, to PyTorch's last bit.

Begin with rng.py (the generator) or the file of the function you look for. Nothing here knows tensors.
"""
