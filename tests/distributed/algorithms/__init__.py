"""Tests of torch.distributed.algorithms."""
