"""Record what PyTorch's modules compute and do: run this file where torch is installed."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import nn_utils_behaviours  # noqa: F401 - adds to BEHAVIOURS
import numpy as np
import torch
from nn_behaviours import BEHAVIOURS, answer
from nn_cases import cases, run
from nn_signatures import module_names, signatures


def main() -> None:
    """Write nn_layers.npz, nn_behaviours.json and nn_signatures.json next to this file."""
    here = Path(__file__).parent
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [run(torch, torch.nn, case) for case in cases()]
        answers = {name: answer(f, torch, torch.nn) for name, f in BEHAVIOURS.items()}
    index, chunks, offset = [], [], 0
    for found in results:
        entries: dict[str, object] = {}
        for name, value in found.items():
            if isinstance(value, str):
                entries[name] = value
                continue
            entries[name] = [value.dtype.str, list(value.shape), offset]
            chunks.append(np.ascontiguousarray(value).tobytes())
            offset += len(chunks[-1])
        index.append(entries)
    # One array: an npz member for each would be mostly headers.
    np.savez_compressed(
        here / "nn_layers.npz",
        index=np.array(json.dumps(index)),
        data=np.frombuffer(b"".join(chunks), np.uint8),
    )
    (here / "nn_behaviours.json").write_text(json.dumps(answers) + "\n")
    write_signatures(here)


def write_signatures(here: Path) -> None:
    """Write nn_signatures.json: one line a module."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(signatures(torch.nn, name))}" for name in module_names(torch.nn)
    ]
    (here / "nn_signatures.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
