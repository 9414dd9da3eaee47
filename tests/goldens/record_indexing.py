"""Record what PyTorch does with x[...]: run this file where torch is installed."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from indexing_cases import all_outcomes


def main() -> None:
    """Write indexing.json next to this file."""
    text = json.dumps(all_outcomes(torch), indent=None, separators=(",", ":"))
    Path(__file__).with_name("indexing.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
