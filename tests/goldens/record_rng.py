"""Record the random numbers that PyTorch draws: run this file where torch is installed."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import torch
from rng_cases import cases, outcome


def main() -> None:
    """Write rng.json next to this file."""
    warnings.simplefilter("ignore")
    found = {name: outcome(torch, call) for name, call in cases(torch)}
    lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(o, separators=(',', ':'))}" for n, o in found.items())
    Path(__file__).with_name("rng.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
