"""Pickles and archives made by hand, and tensors over NumPy arrays, for the tests here."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np

import rushlight as torch


def tensor(*sizes: int, dtype: Any = np.float32) -> Any:
    """0, 1, 2, ... as a tensor."""
    return torch.from_numpy(np.arange(int(np.prod(sizes)), dtype=dtype).reshape(sizes).copy())


def archive(
    pickled: bytes,
    records: dict[str, bytes] | None = None,
    version: bytes = b"3\n",
    compression: int = zipfile.ZIP_STORED,
) -> io.BytesIO:
    """A file as torch.save writes it, around a pickle of our own."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        file.writestr("x/data.pkl", pickled)
        for name, data in {"version": version, "byteorder": b"little", **(records or {})}.items():
            file.writestr(f"x/{name}", data)
    buffer.seek(0)
    return buffer


def saved(obj: Any, **how: Any) -> io.BytesIO:
    """What save writes, ready to load."""
    buffer = io.BytesIO()
    torch.save(obj, buffer, **how)
    buffer.seek(0)
    return buffer
