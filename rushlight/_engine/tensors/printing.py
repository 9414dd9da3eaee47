"""How tensors print: PyTorch's text, character for character.

Two layers. `format_array` turns a NumPy array into the bracketed body and knows nothing of
tensors; `tensor_repr` adds what only a tensor knows (device, size, dtype, grad_fn) by its public
attributes.

1. Numbers are formatted once, for the elements that will be shown (`_corner`).
2. Column widths come from the extremes of each sign, so they need no formatting of every element.
3. Brackets are laid out from the innermost dimension outwards, without recursion.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rushlight._engine.core.dtype import bool_, dtype, get_default_dtype, int64
from rushlight._engine.core.services import service
from rushlight._engine.tensors.tensor import BELOW, LISTENING, WRAPPED, Tensor


@dataclass
class PrintOptions:
    """The settings of `set_printoptions`; see there for their meaning."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = PrintOptions()

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print; what is None keeps its value, except `sci_mode`.

    precision: digits after the point (4).  threshold: number of elements above which a tensor is
    summarised (1000).  edgeitems: elements shown at each end of a summarised dimension (3).
    linewidth: characters per line (80).  profile: "default", "short" or "full"; set first.
    sci_mode: True or False forces scientific notation on or off, None (the default) lets the
    formatter choose; it is set by every call.
    """
    chosen = dict(_PROFILES.get(profile, {})) if profile is not None else {}
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen.update((name, value) for name, value in given.items() if value is not None)
    for name, value in chosen.items():
        setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The current options, as a dictionary that `set_printoptions` accepts."""
    return asdict(PRINT_OPTS)


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Set print options for the length of a `with` block; takes what `set_printoptions` takes."""
    saved = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**saved)


# --- numbers ------------------------------------------------------------------


def _width(template: str, values: np.ndarray) -> int:
    """Width of the widest of `template % v`: one of the largest or smallest of each sign."""
    candidates = []
    for part in (values[values > 0], values[values < 0]):
        if part.size:
            candidates += [part.min(), part.max()]
    return max(len(template % float(v)) for v in candidates)


class _Style:
    """How the numbers of one array are written: scientific, fixed, or as whole numbers ("2.")."""

    def __init__(self, values: np.ndarray, sci_mode: bool | None, precision: int) -> None:
        finite = values[np.isfinite(values) & (values != 0)]
        self.whole = True
        self.sci = False
        self.width = 1
        self.template = f"%.{precision}f"
        if not finite.size:
            return  # nothing to decide by, not even a forced sci_mode
        self.whole = bool((finite == np.ceil(finite)).all())
        self.sci = self._spans_widely(finite) if sci_mode is None else sci_mode
        if self.sci:
            self.template = f"%.{precision}e"
        if self.whole and not self.sci:
            self.width = _width("%.0f.", finite)
        else:
            self.width = _width(self.template, finite)

    def _spans_widely(self, finite: np.ndarray) -> bool:
        size = np.abs(finite)
        low, high = size.min(), size.max()
        return bool(high > 1.0e8 or high / low > 1000.0 or (low < 1.0e-4 and not self.whole))

    def write(self, values: np.ndarray) -> list[str]:
        """The elements of a flat array, each right-justified to the common width."""
        numbers = values.tolist()
        if self.whole and not self.sci:
            texts = [f"{v:.0f}." if math.isfinite(v) else f"{v:.0f}" for v in numbers]
        else:
            texts = list(map(self.template.__mod__, numbers))
        return _justify(texts, self.width)


def _justify(texts: list[str], width: int) -> list[str]:
    return [text.rjust(width) for text in texts]


def _float_style(values: np.ndarray, options: PrintOptions) -> _Style:
    return _Style(values, options.sci_mode, options.precision)


def _write_complex(flat: np.ndarray, options: PrintOptions) -> tuple[list[str], int]:
    real, imag = _float_style(flat.real, options), _float_style(flat.imag, options)
    imag_texts = [text.lstrip() for text in imag.write(flat.imag)]
    signed = [text if text[0] == "-" else "+" + text for text in imag_texts]
    cells = [f"{r}{i}j" for r, i in zip(real.write(flat.real), signed, strict=True)]
    return cells, real.width + imag.width + 1


def _write_elements(corner: np.ndarray, options: PrintOptions) -> tuple[list[str], int]:
    """The text of each element, in order, and the width that line wrapping reckons with."""
    flat = corner.reshape(-1)
    if flat.dtype.kind in "biu":
        texts = list(map(str, flat.tolist()))
        width = max(map(len, texts), default=1)
        return _justify(texts, width), width
    with np.errstate(all="ignore"):
        if flat.dtype.kind == "c":
            return _write_complex(flat.astype(np.complex128), options)
        flat = flat.astype(np.float64)  # exact for every floating dtype, ml_dtypes included
        style = _float_style(flat, options)
        return style.write(flat), style.width


# --- brackets -----------------------------------------------------------------


def _corner(array: np.ndarray, edge: int) -> np.ndarray:
    """What remains of an array when each dimension longer than 2 * edge keeps only its ends."""
    kept = (np.r_[0:edge, size - edge : size] if size > 2 * edge else np.arange(size) for size in array.shape)
    found: np.ndarray = array[np.ix_(*kept)]
    return found


def _rows(cells: list[str], length: int) -> list[list[str]]:
    return [cells[i : i + length] for i in range(0, len(cells), length)]


def _elide(rows: list[list[str]], edge: int, mark: str) -> list[list[str]]:
    return [[*row[:edge], mark, *row[edge:]] for row in rows]


def _brackets(
    cells: list[str], corner: np.ndarray, cut: list[bool], edge: int, indent: int, per_line: int
) -> str:
    """Join the cells of `corner` into nested brackets; `cut[d]`: dimension d is abridged."""
    last = corner.ndim - 1
    rows = _rows(cells, corner.shape[last])
    if cut[last]:
        rows = _elide(rows, edge, " ...")
    margin = ",\n" + " " * (indent + last + 1)
    lines = ([", ".join(part) for part in _rows(row, per_line)] for row in rows)
    blocks = ["[" + margin.join(parts) + "]" for parts in lines]
    for axis in range(last - 1, -1, -1):
        rows = _rows(blocks, corner.shape[axis])
        if cut[axis]:
            rows = _elide(rows, edge, "...")
        margin = "," + "\n" * (last - axis) + " " * (indent + axis + 1)
        blocks = ["[" + margin.join(row) + "]" for row in rows]
    return blocks[0]


def format_array(array: np.ndarray, indent: int = 0, options: PrintOptions = PRINT_OPTS) -> str:
    """The bracketed text of an array of any shape and dtype, without prefix or suffixes.

    indent: column at which the text will start; continuation lines are indented to match.
    """
    if array.size == 0:
        return "[]"
    edge = options.edgeitems
    summarise = array.size > options.threshold and array.ndim > 0
    if summarise and not edge:
        return "[...]"
    cut = [summarise and size > 2 * edge for size in array.shape]
    corner = _corner(array, edge) if summarise else array
    cells, width = _write_elements(corner, options)
    if array.ndim == 0:
        return cells[0]
    column = indent + array.ndim - 1
    per_line = max(1, math.floor((options.linewidth - column) / (width + 2)))
    return _brackets(cells, corner, cut, edge, indent, per_line)


# --- tensors ------------------------------------------------------------------


def _spelled_dtype(of: dtype, *, hidden: bool) -> str | None:
    """The dtype's suffix, or None where the numbers (unless none are shown) already tell it."""
    default = get_default_dtype()
    implied = (default,) if hidden else (default, default.to_complex(), int64, bool_)
    return None if of in implied else f"dtype={of!r}"


def _body(t: Tensor, indent: int, contents: str | None) -> tuple[str, list[str]]:
    """The text of the numbers, and the suffixes that say what they do not."""
    meta = t.device.type == "meta"
    empty = t.numel() == 0
    suffixes = [f"device='{t.device}'"] if t.device.type != "cpu" else []
    if meta or (t.dim() != 1 if empty else not PRINT_OPTS.edgeitems):
        suffixes.append(f"size={tuple(t.shape)}")
    spelled = _spelled_dtype(t.dtype, hidden=empty or meta)
    if spelled is not None:
        suffixes.append(spelled)
    if contents is None:
        contents = "..." if meta else format_array(_numbers(t), indent)
    return contents, suffixes


def _numbers(t: Tensor) -> np.ndarray:
    """The elements, for the host."""
    return t._array.device.read(t._array) if t.device.type == "cuda" else t._array  # type: ignore[attr-defined]


def _tensor_str(t: Tensor, indent: int = 0) -> str:
    """The numbers of a tensor as it prints them, with their brackets."""
    return _body(t, indent, None)[0]


def _add_suffixes(text: str, suffixes: list[str], indent: int, force_newline: bool = False) -> str:
    """Append the suffixes, each on a new line where it would not fit, and close the parenthesis. The first
    is on a new line with `force_newline`.
    """
    column = len(text.rpartition("\n")[2]) + 2
    for suffix in suffixes:
        column += len(suffix) + 2
        if force_newline or column > PRINT_OPTS.linewidth:
            force_newline = False
            column = indent + len(suffix)
            text += ",\n" + " " * indent + suffix
        else:
            text += ", " + suffix
    return text + ")"


def tensor_repr(t: Tensor, *, contents: str | None = None) -> str:
    """What `repr(t)` returns; `contents` replaces the bracketed numbers."""
    if LISTENING in WRAPPED and type(t) not in BELOW:  # listeners hear nothing of what is printed
        with service("unheard below autograd")():
            return _repr(t, contents)
    return _repr(t, contents)


def _repr(t: Tensor, contents: str | None) -> str:
    kind = type(t).__name__
    # A Parameter says so on a line of its own and prints like a tensor after that.
    prefix = "tensor(" if kind in ("Tensor", "Parameter") else kind + "("
    text, suffixes = _body(t, len(prefix), contents)
    if t.grad_fn is not None:
        suffixes.append(f"grad_fn=<{type(t.grad_fn).__name__}>")
    elif t.requires_grad:
        suffixes.append("requires_grad=True")
    text = _add_suffixes(prefix + text, suffixes, len(prefix))
    marked = getattr(t, "_is_param", False) or any(c.__name__ == "Parameter" for c in type(t).__mro__[1:])
    return f"Parameter({text})" if marked else text


def _str_intern(inp: Any, *, tensor_contents: str | None = None) -> str:
    """The text of a tensor of any kind, with other words for its numbers; PyTorch's name for it."""
    if inp._prints_itself:
        return str(inp.__repr__(tensor_contents=tensor_contents))
    return tensor_repr(inp, contents=tensor_contents)


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """What a tensor's `__repr__` says, for programs that put another in its place."""
    return _str_intern(self, tensor_contents=tensor_contents)
