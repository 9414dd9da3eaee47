"""The memory behind tensors.

Begin with storage.py (what views share, and the version counter); typed.py and untyped.py are PyTorch's
classes, sharing.py is memory between processes, memory_pages.py what becomes of freed memory.
"""
