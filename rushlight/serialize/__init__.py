"""PyTorch's file formats both ways, and safetensors.

api.py is save and load. Below it, each in one file: the zip archive (zipfile_format), files that
are replaced as a whole or not at all (atomic), the two ends of the pickle (pickler, unpickler, with
trust and names between them), where storages go (locations), the format before 1.6 (legacy), and
the only part that knows tensors (rebuild). All else works on bytes and NumPy arrays.
"""
