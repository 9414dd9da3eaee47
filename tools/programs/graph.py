"""Writes a small graph in the two files that papers' graph is kept in: `graph.py FOLDER`."""

import sys
from pathlib import Path

import numpy

folder, rng = Path(sys.argv[1]), numpy.random.default_rng(0)
folder.mkdir(parents=True, exist_ok=True)
labels = rng.integers(0, 7, 1500)
features = (rng.random((1500, 40)) < 0.1 + 0.3 * (numpy.arange(40) % 7 == labels[:, None])).astype(int)
with open(folder / "cora.content", "w") as file:
    for i, (row, label) in enumerate(zip(features, labels)):
        file.write("\t".join([str(100 + i), *map(str, row), f"Class_{label}"]) + "\n")
with open(folder / "cora.cites", "w") as file:
    for a, b in rng.integers(0, 1500, (4000, 2)):
        if a != b:
            file.write(f"{100 + a}\t{100 + b}\n")
