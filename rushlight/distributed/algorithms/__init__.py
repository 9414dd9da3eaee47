"""Algorithms on process groups (torch.distributed.algorithms)."""

from rushlight.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
