"""PyTorch's dispatcher below autograd: modes and classes with __torch_dispatch__ hear torch.ops.aten ops.

Loaded when a program has such a mode or class. Begin with delivery.py (how an op reaches who listens), then
translation.py (from a row's call to PyTorch's op).
"""
