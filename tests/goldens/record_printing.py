"""Record what PyTorch prints: run this file where torch is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from printing_cases import cases

_BITS = {1: torch.uint8, 2: torch.int16}


def as_tensor(data: np.ndarray[Any, Any], name: str) -> torch.Tensor:
    """The array as a torch tensor, bit for bit."""
    if name != "bfloat16" and not name.startswith("float8"):
        return torch.from_numpy(data.copy())
    bits = _BITS[data.dtype.itemsize]
    plain = data.view({1: np.uint8, 2: np.int16}[data.dtype.itemsize]).copy()
    return torch.from_numpy(plain).to(bits).view(getattr(torch, name))


def main() -> None:
    """Write printing.json next to this file."""
    texts = []
    for case in cases():
        torch.set_printoptions(profile="default")
        torch.set_printoptions(**case.options)
        texts.append(repr(as_tensor(np.asarray(case.data), case.dtype)))
    Path(__file__).with_name("printing.json").write_text(json.dumps(texts, indent=0) + "\n")


if __name__ == "__main__":
    main()
