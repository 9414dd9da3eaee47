"""Checkpoints of many ranks as files of torch.save, and back."""

from __future__ import annotations

import os
from typing import Any

import rushlight as torch
from rushlight.distributed.checkpoint.default_planner import DefaultSavePlanner, _EmptyStateDictLoadPlanner
from rushlight.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from rushlight.distributed.checkpoint.state_dict_loader import _load_state_dict
from rushlight.distributed.checkpoint.state_dict_saver import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Write the whole state dict of a checkpoint's folder into one file; on one rank alone."""
    state: dict[str, Any] = {}
    reader, planner = FileSystemReader(dcp_checkpoint_dir), _EmptyStateDictLoadPlanner()
    _load_state_dict(state, storage_reader=reader, planner=planner, no_dist=True)
    torch.save(state, torch_save_path)


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Write a file of torch.save, which may hold any objects, as a checkpoint's folder; on one rank alone."""
    state = torch.load(torch_save_path, weights_only=False)
    writer = FileSystemWriter(dcp_checkpoint_dir)
    save(state, storage_writer=writer, planner=DefaultSavePlanner(), no_dist=True)
