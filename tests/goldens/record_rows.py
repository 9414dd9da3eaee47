"""Record what PyTorch's indexing, sorting and counting ops do: run this where torch is installed."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from rows_cases import case_outcome, cases, namespace


def main() -> None:
    """Write rows.json next to this file."""
    found = {case: case_outcome(case, namespace(torch)) for case in cases()}
    text = json.dumps(found, separators=(",", ":"))
    Path(__file__).with_name("rows.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
