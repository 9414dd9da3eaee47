"""Record values, dtypes, gradients and node names of PyTorch's ops: run this where torch is installed."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numerics_cases
import torch
from ops_cases import cases, run


def record(name: str, texts: list[str]) -> None:
    """Write NAME next to this file, a line for each expression."""
    lines = []
    for text in texts:
        try:
            found = run(torch, text)
        except Exception as error:
            raise RuntimeError(f"{text} does not run") from error
        lines.append(f"{json.dumps(text)}:{json.dumps(found, separators=(',', ':'))}")
    Path(__file__).with_name(name).write_text("{" + ",\n".join(lines) + "}\n")


def main() -> None:
    """Write ops.json and numerics.json."""
    warnings.simplefilter("ignore")
    record("ops.json", cases())
    record("numerics.json", numerics_cases.cases())


if __name__ == "__main__":
    main()
