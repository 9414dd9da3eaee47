"""The memory behind tensors."""
