"""torch._custom_op: the older spelling of torch.library.custom_op, which PyTorch deprecates (impl.py)."""
