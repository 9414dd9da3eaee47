"""Dive into Deep Learning: the cells of chapters for PyTorch, and what each leaves: `book_chapters.py CHAPTER ...`.

Data sets that it downloads are not there, on both sides, but for a small FashionMNIST of noise.
"""

import ast
import random
import re
import struct
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import requests
import torch

CELL = re.compile(r"^```\{\.python \.input[^}]*\}\n(.*?)^```", re.S | re.M)
# Cells that say what time it is, where something lies, or only ask for help.
ASKS = re.compile(r"time\.|timer|Timer|Benchmark|\bid\(|help\(|dir\(|num_gpus|try_gpu|try_all_gpus")


def offline(*args, **kwargs):
    raise OSError("offline")


def noise(root):
    root.mkdir(parents=True, exist_ok=True)
    numbers = np.random.default_rng(0)
    for part, n in (("train", 256), ("t10k", 64)):
        images = numbers.integers(0, 256, (n, 28, 28), dtype=np.uint8).tobytes()
        labels = numbers.integers(0, 10, n, dtype=np.uint8).tobytes()
        (root / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, n, 28, 28) + images)
        (root / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, n) + labels)


def size(t):
    t = torch.view_as_real(t.detach()) if t.is_complex() else t.detach()
    return f"{tuple(t.shape)} {t.dtype} {float(t.double().abs().sum()):.5e}"


def shown(value, deep=0):
    try:
        if isinstance(value, torch.Tensor):
            return size(value)
        if isinstance(value, torch.nn.Module):
            sums = [float(p.detach().double().abs().sum()) for p in value.parameters()]
            return f"{type(value).__name__} {sum(sums):.5e}"
    except ValueError as error:
        return f"{type(value).__name__} {type(error).__name__}"
    if isinstance(value, (bool, int)):
        return str(value)
    if isinstance(value, float):
        return f"{value:.5e}"
    if isinstance(value, (list, tuple)) and deep < 2:
        return "[" + ", ".join(shown(x, deep + 1) for x in value[:8]) + "]"
    return repr(value[:60]) if isinstance(value, str) else type(value).__name__


def of_pytorch(cell):
    first, _, rest = cell.partition("\n")
    if first.startswith("%%tab"):
        return rest if "pytorch" in first or "all" in first else ""
    return "" if re.search(r"mxnet|tensorflow|jax|^[%!]|tab\.interact", cell, re.M) else cell


def run(file):
    space, seen = {"__name__": "__main__", "tab": Tab}, {}
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    for i, found in enumerate(CELL.finditer(file.read_text())):
        cell = of_pytorch(found[1])
        if not cell.strip() or ASKS.search(cell):
            continue
        try:
            exec(compile(ast.parse(cell), f"<{file.stem} {i}>", "exec"), space)
        except Exception as error:
            print(file.stem, i, type(error).__name__)
        plt.close("all")
        for name, value in list(space.items()):
            if name.startswith("_") or isinstance(value, type) or not hasattr(value, "__class__"):
                continue
            if callable(value) and not isinstance(value, torch.nn.Module):
                continue
            text = shown(value)
            if seen.get(name) != text and type(value).__name__ != "module":
                seen[name] = text
                print(file.stem, i, name, text)


class Tab:
    @staticmethod
    def selected(*names):
        return "pytorch" in names


warnings.filterwarnings("ignore")
noise(Path("../data/FashionMNIST/raw"))
requests.get = offline
from d2l import torch as d2l  # noqa: E402 -- as the book has it, past what is set above

begun = d2l.Trainer.__init__
d2l.Trainer.__init__ = lambda self, max_epochs, *args, **kwargs: begun(
    self, min(max_epochs, 2), *args, **kwargs
)
d2l.ProgressBoard.draw = d2l.use_svg_display = d2l.plot = lambda *args, **kwargs: None
for wanted in sys.argv[1:]:
    for page in sorted(Path().glob(wanted)):
        run(page)
begun = page = None
