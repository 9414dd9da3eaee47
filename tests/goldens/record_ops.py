"""Record values, dtypes, gradients and node names of PyTorch's ops: run this where torch is installed."""
from __future__ import annotations

import json
import warnings
from pathlib import Path

import torch
from ops_cases import cases, run


def main() -> None:
    """Write ops.json next to this file, a line for each case."""
    warnings.simplefilter("ignore")
    lines = []
    for text in cases():
        try:
            found = run(torch, text)
        except Exception as error:
            raise RuntimeError(f"{text} does not run") from error
        lines.append(f"{json.dumps(text)}:{json.dumps(found, separators=(',', ':'))}")
    Path(__file__).with_name("ops.json").write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
