"""Record the types of PyTorch's exceptions: run this where torch is installed."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import torch
from error_cases import cases, raised


def main() -> None:
    """Write errors.json next to this file; every mistake must raise, with the key words."""
    warnings.simplefilter("ignore")
    found = {}
    for text, words in cases():
        kind, message = raised(torch, text)
        if not kind or words not in message:
            raise RuntimeError(f"{text}: expected an error with {words!r}, got {kind} {message!r}")
        found[text] = kind
    Path(__file__).with_name("errors.json").write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    main()
