"""PyTorch's file formats both ways, and safetensors.

Begin with api.py (save, load), zip_format.py (the archive), pickler.py and unpickler.py. Only rebuild.py
knows tensors; atomic.py sees to it that no file is ever half written.
"""
