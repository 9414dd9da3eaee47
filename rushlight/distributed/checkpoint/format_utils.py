"""Checkpoints of many ranks as files of torch.save, and back."""

from __future__ import annotations

import os
from typing import Any

import rushlight as torch
from rushlight.distributed.checkpoint._traverse import set_element
from rushlight.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from rushlight.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from rushlight.distributed.checkpoint.metadata import TensorStorageMetadata
from rushlight.distributed.checkpoint.state_dict_loader import load
from rushlight.distributed.checkpoint.state_dict_saver import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Write the whole state dict of a checkpoint's folder into one file; on one rank alone."""
    reader = FileSystemReader(dcp_checkpoint_dir)
    metadata = reader.read_metadata()
    flat: dict[str, Any] = {
        name: torch.empty(entry.size, dtype=entry.properties.dtype)
        if isinstance(entry, TensorStorageMetadata)
        else None
        for name, entry in metadata.state_dict_metadata.items()
    }
    load(flat, storage_reader=reader, planner=DefaultLoadPlanner(flatten_state_dict=False), no_dist=True)
    state: dict[str, Any] = {}
    for name, value in flat.items():
        set_element(state, (metadata.planner_data or {}).get(name, (name,)), value)
    torch.save(state, torch_save_path)


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Write a file of torch.save, which may hold any objects, as a checkpoint's folder; on one rank alone."""
    state = torch.load(torch_save_path, weights_only=False)
    writer = FileSystemWriter(dcp_checkpoint_dir)
    save(state, storage_writer=writer, planner=DefaultSavePlanner(), no_dist=True)
