"""Values as programs print them and make text of them: PyTorch's C++ way, which is not Python's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import Enum
from itertools import product
from typing import Any

import rushlight as torch

_WIDE = 80  # characters of a line of a matrix
_EXACT = 17  # digits that tell a float64 from all others
_PAST = 2.0**63  # whole numbers from here on are no int64


def told(value: Any) -> str:
    """A value as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, Enum):
        return f"Enum<{type(value).__name__}.{value.name}>"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, complex):
        return f"{_float(value.real)}{'+' if value.imag >= 0 else '-'}{_float(abs(value.imag))}j"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{told(k)}: {told(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(told, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(told, value))}{',' * (len(value) == 1)})"
    return str(value)


def _float(value: float) -> str:
    """A number; whole ones end with a point."""
    if -_PAST <= value < _PAST and value == int(value):
        return f"{int(value)}."
    return f"{value:.{_EXACT}g}"


def _tensor(tensor: torch.Tensor) -> str:
    """A tensor: its numbers in columns, then its type and sizes."""
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested:
        return str(tensor)
    sizes, numbers = list(tensor.shape), tensor.detach().cpu()
    numbers = (numbers.real if numbers.is_complex() else numbers).double()
    lines = ""
    if not sizes:
        lines = f"{_plain(numbers.item())}\n"
    elif tensor.numel() and len(sizes) == 1:
        form = _Form(numbers.tolist())
        lines = form.head() + "".join(f"{form.cell(value)}\n" for value in numbers.tolist())
    elif tensor.numel():
        lines = "\n".join(_matrices(numbers))
    where = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}.get(tensor.device.type, "")
    return f"{lines}[ {where}{tensor.dtype.legacy}Type{{{','.join(map(str, sizes))}}} ]"


def _plain(value: float) -> str:
    return repr(value).removesuffix(".0")


def _matrices(numbers: torch.Tensor) -> Iterator[str]:
    """The matrices of a tensor, each with its place where there are several: the first dim goes fastest."""
    for last_first in product(*map(range, numbers.shape[-3::-1])):
        place = last_first[::-1]
        head = f"({','.join(str(i + 1) for i in place)},.,.) = \n" if place else ""
        yield head + _matrix(numbers[place].tolist(), 1 if place else 0)


def _matrix(rows: list[list[float]], indent: int) -> str:
    """A matrix, in parts where its lines would be too long."""
    form, count, text = _Form([value for row in rows for value in row]), len(rows[0]), ""
    most = (_WIDE - indent) // (form.width + 1)
    pad = " " * (indent + (form.scale != 1))
    for first in range(0, count, most):
        part = [row[first : first + most] for row in rows]
        if most < count:
            text += "\n" * (first > 0) + f"Columns {first + 1} to {first + len(part[0])}" + " " * indent
        if form.scale != 1:
            text += form.head() + " " * indent
        lines = [" ".join(map(form.cell, row)) + "\n" for row in part]
        text += pad.join(lines)
    return text


class _Form:
    """How the numbers of a matrix are written: their common scale, their width, and their kind."""

    def __init__(self, values: list[float]) -> None:
        finite = [abs(value) for value in values if math.isfinite(value)] or [1.0]
        whole = all(value == math.ceil(value) for value in values if math.isfinite(value))
        least, most = (math.floor(math.log10(x)) + 1 if x else 1 for x in (min(finite), max(finite)))
        self.scale, self.kind = 1.0, ".4f"
        if whole and most <= 9:
            self.width, self.kind = most + 1, "g"
        elif whole:
            self.width, self.kind = 11, ".4e"
        elif most - least > 4:
            self.width, self.kind = 11 + (abs(most) > 99 or abs(least) > 99), ".4e"
        elif most > 5 or most < 0:
            self.width, self.scale = 7, 10.0 ** (most - 1)
        else:
            self.width = 7 if most == 0 else most + 6

    def head(self) -> str:
        """The line that tells the scale."""
        return f"{_plain(self.scale)} *\n" if self.scale != 1 else ""

    def cell(self, value: float) -> str:
        """A number in its column."""
        return format(value / self.scale, self.kind).rjust(self.width)
