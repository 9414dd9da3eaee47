"""Records what PyTorch's ranks get in the programs of tests/distributed/: run it where PyTorch is installed.

    python -m tests.goldens.record_sharded

recorded_guides.json is what rank 0 of `torchrun --nproc_per_node=2 tests/distributed/programs/guides.py` prints.
"""

import json
import sys

from tests.distributed.cases import RECORDED, told

RUNS = {
    "ddp": ("ddp_cases.py", (), 2),
    "fsdp": ("fsdp_cases.py", (), 2),
    "nn": ("nn_cases.py", (), 2),
    "two_dims": ("two_dims.py", (), 4),
    "pipes": ("pipes.py", (), 2),
    "casts": ("casts.py", (), 2),
    "pipes4": ("pipes.py", ("wrapped",), 4),
    "fsdp4": ("fsdp_cases.py", ("hybrid", "ragged"), 4),
    **{
        f"train_{way}": ("train.py", (way, 50), 1 if way == "one" else 2)
        for way in ("one", "ddp", "flat", "fully")
    },
}


def answers(name):
    program, arguments, size = RUNS[name]
    return told(program, *arguments, size=size, python=(sys.executable,), timeout=120)


if __name__ == "__main__":
    for name in sys.argv[1:] or RUNS:
        (RECORDED / f"recorded_{name}.json").write_text(
            json.dumps(answers(name), separators=(",", ":")) + "\n"
        )
