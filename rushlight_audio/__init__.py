"""torchaudio's compiled operators.

torchaudio itself is installed as for PyTorch, without its dependency on it, and runs as it is: all of it but
these operators is Python. `extension` defines them by their names in torch.ops; torchaudio asks for them by
`torch.ops.load_library` of its own files, which are compiled for PyTorch and are not read.
"""
