"""Records what PyTorch prints of traces and exported programs.

python tests/goldens/record_graphs.py        writes graphs.json; needs PyTorch
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
import torch.fx

from tests.export import programs as exported
from tests.fx import programs as traced


def main() -> None:
    """Write the file."""
    found = {"fx": traced.texts(torch), "export": exported.texts(torch)}
    Path(__file__).with_name("graphs.json").write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
