"""Rank 1 alone fails while checkpoints are written: what both are told, and that neither waits for the other."""

import json
import os
import sys
import threading
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint._consolidate_hf_safetensors import (
    consolidate_safetensors_files_on_every_rank,
)

dist.init_process_group("gloo", timeout=timedelta(seconds=60))
folder, rank = Path(sys.argv[1]), dist.get_rank()


class Held(Exception):
    """One that cannot be sent."""

    def __init__(self):
        super().__init__("a lock")
        self.lock = threading.Lock()


class Planner(dcp.DefaultSavePlanner):
    """Fails on rank 1."""

    def resolve_data(self, write_item):
        """Its data."""
        if rank == 1:
            raise Held
        return super().resolve_data(write_item)


def alone(use_collectives):
    """Save a tensor of each rank."""
    state = {f"a{rank}": torch.ones(2)}
    dcp.save(state, checkpoint_id=folder / "dcp", planner=Planner(), use_collectives=use_collectives)


def consolidate():
    """The second file, which is rank 1's, has a tensor that is not there."""
    consolidate_safetensors_files_on_every_rank(os.fspath(folder), os.fspath(folder / "out"), {"missing": 1})


told = []
for step in (lambda: alone(True), lambda: alone(False), consolidate):
    try:
        step()
    except dcp.CheckpointException as error:
        told.append({str(rank): str(failure[0]) for rank, failure in error.failures.items()})
print(json.dumps(told))
dist.destroy_process_group()
