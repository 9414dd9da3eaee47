"""Runs a program as `__main__` from seeds, and prints what its variables hold at the end: `seeded.py FILE ARGS`."""

import os
import random
import runpy
import sys

import numpy
import torch


def summed(value: object) -> str:
    """A line of numbers for a tensor, a module, an array or a float; empty for other things."""
    if isinstance(value, torch.nn.Module):
        tensors = [p for p in value.state_dict().values() if isinstance(p, torch.Tensor)]
        sums = [float(p.detach().double().abs().sum()) for p in tensors if not p.is_complex()]
        return f"{len(sums)} tensors {sum(sums):.6e}"
    if isinstance(value, torch.Tensor) and value.layout is torch.strided and not value.is_complex():
        numbers = value.detach().double()
        return (
            f"{tuple(value.shape)} {value.dtype} {float(numbers.sum()):.6e} {float(numbers.abs().sum()):.6e}"
        )
    if isinstance(value, numpy.ndarray) and value.dtype.kind in "fiub":
        return f"{value.shape} {numpy.abs(value.astype(float)).sum():.6e}"
    if isinstance(value, float):
        return f"{value:.6e}"
    return ""


for missing in os.environ.get("PROGRAM_WITHOUT", "").split():
    sys.modules[missing] = None  # type: ignore[assignment]  # the import system's word for "not there"
random.seed(0)
numpy.random.seed(0)
torch.manual_seed(0)
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
found = runpy.run_path(sys.argv[0], run_name="__main__")
for name in sorted(found):
    text = summed(found[name]) if not any(word in name for word in ("time", "start", "end", "_")) else ""
    if text:
        print("at the end:", name, text)
