"""Record PyTorch's promotion of all pairs of dtypes: run this where torch is installed."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from promotion_cases import table


def main() -> None:
    """Write promotion.json next to this file."""
    lines = [
        f"{json.dumps(key)}:{json.dumps(row, separators=(',', ':'))}" for key, row in table(torch).items()
    ]
    Path(__file__).with_name("promotion.json").write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
