"""Wrappers that save memory (torch.distributed.algorithms._checkpoint)."""
