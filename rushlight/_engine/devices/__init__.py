"""Backends of devices that are not the CPU, a folder each; found by listing this one.

Begin with cuda/__init__.py. A backend owns its arrays, its allocator and its kernels, and knows tensors only
by their parts (tensors/).
"""
