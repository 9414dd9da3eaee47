"""Writes small files as MNIST's are, with blobs in place of digits: `digits.py FOLDER [COUNT]`."""

import struct
import sys
from pathlib import Path

import numpy

folder, count = Path(sys.argv[1]) / "MNIST" / "raw", int((sys.argv[2:] or ["256"])[0])
folder.mkdir(parents=True)
rng = numpy.random.default_rng(0)
for part, n in (("train", count), ("t10k", count // 4)):
    labels = (numpy.arange(n) % 10).astype(numpy.uint8)
    images = rng.integers(0, 40, (n, 28, 28), dtype=numpy.uint8)
    for image, label in zip(images, labels):
        row, column = divmod(int(label), 4)
        image[2 + 8 * row : 9 + 8 * row, 1 + 7 * column : 7 + 7 * column] = 230
    (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 2051, n, 28, 28) + images.tobytes())
    (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, n) + labels.tobytes())
