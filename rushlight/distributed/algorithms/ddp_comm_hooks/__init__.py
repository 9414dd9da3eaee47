"""Hooks that take the place of DistributedDataParallel's all-reduce."""
