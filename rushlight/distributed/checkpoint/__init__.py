"""Checkpoints that every rank writes a part of, and that any number of ranks can load
(torch.distributed.checkpoint).
"""
from rushlight.distributed.checkpoint.saving import (CheckpointException, FileSystemReader, FileSystemWriter,
                                                     load,
                                                     save)

__all__ = ["CheckpointException", "FileSystemReader", "FileSystemWriter", "load", "save"]
