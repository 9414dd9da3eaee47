"""A rank that goes wrong: argument 1 says how. The others print how long they waited and what they were told."""

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

how = sys.argv[1]
if how == "slow start" and os.environ["RANK"] == "1":
    sys.exit(0)
limit = timedelta(seconds=float(os.environ.get("LIMIT", "15")))
try:
    # Ranks may start seconds apart on a loaded machine: only who tests that waits no longer than the limit.
    dist.init_process_group(timeout=limit if how == "slow start" else timedelta(seconds=60))
except RuntimeError as error:
    print(f"not begun: {type(error).__name__}: {error}", flush=True)
    sys.exit(5)
rank = dist.get_rank()
data = torch.ones(100_000)


def told(error):
    blamed = getattr(error, "rank", None)
    print(f"{type(error).__name__} after {time.monotonic() - begun:.2f}: {blamed}: {error}", flush=True)


begun = time.monotonic()
try:
    for _ in range(3):
        dist.all_reduce(data)
except RuntimeError as error:  # another one has done with the last of them, and failed
    told(error)
    raise
dist.set_timeout(limit)
again = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
if rank == int(os.environ.get("VICTIM", "1")) and not again:
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "raise":
        raise ValueError("a mistake of my own")
    if how == "exit":
        sys.exit(3)
    if how == "_exit":
        os._exit(4)
    if how == "early":
        dist.destroy_process_group()
        sys.exit(0)
    if how == "late":
        time.sleep(4)
if how == "fine" or again:
    # One write: lines of several processes are not to mix.
    sys.stdout.write(f"rank {rank} of {dist.get_world_size()}, attempt {again}: {data[0].item():g}\n")
    dist.destroy_process_group()
    sys.exit(0)
begun = time.monotonic()
try:
    if how == "other" and rank == 1:
        dist.broadcast(data, 0)
    for _ in range(100_000):
        dist.monitored_barrier() if how == "late" else dist.all_reduce(data)
except RuntimeError as error:
    told(error)
    raise
