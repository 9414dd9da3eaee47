"""The *_copy ops: each a view (or several) with memory of its own; and splits with the word "unsafe".

They are derived here, all from their views' rows: the same parameters, the result in row-major order.
"""

from __future__ import annotations

from functools import wraps
from itertools import zip_longest
from typing import Any

from rushlight._engine.core.errors import wrap_dim
from rushlight._engine.ops.table import ROWS, Row, composite

_TORCH = ("torch",)


class _RowMajor:
    """What `clone` takes as a memory format, by its name."""

    name = "contiguous_format"


def _own(found: Any) -> Any:
    if isinstance(found, (tuple, list)):
        return tuple([_own(t) for t in found])
    return ROWS["clone"](found, memory_format=_RowMajor)


def _copy(view: str, **facts: Any) -> Row:
    """The row NAME_copy of a view's row, with its parameters."""
    row = ROWS[view]

    @wraps(row.body)
    def body(input: Any, *args: Any, **named: Any) -> Any:
        return _own(row(input.resolve_conj(), *args, **named))

    body.__module__ = __name__  # which says the row's family
    return composite(body, name=f"{view}_copy", out=True, doc=f"{view}, copied.", where=_TORCH, **facts)


for _name in (
    "permute",
    "transpose",
    "t",
    "expand",
    "squeeze",
    "unsqueeze",
    "diagonal",
    "unfold",
    "select",
    "slice",
    "view_as_real",
    "view_as_complex",
    "as_strided",
):
    _copy(_name)
for _name in ("split", "split_with_sizes", "unbind"):
    _copy(_name, out_list=True)


@composite(where=_TORCH, out=True)
def view_copy(input, size: Ints | None = None, *, dtype: dtype | None = None):
    """view, copied: in another shape, or its bytes as another dtype."""
    return _own(input.resolve_conj().resolve_neg().view(dtype) if dtype is not None else input.reshape(size))


@composite(out=True)
def narrow_copy(input, dim: int, start: int, length: int):
    """narrow, copied."""
    if input.ndim and dim >= input.ndim:
        raise RuntimeError(f"narrow_copy(): Expected dim < {input.ndim}, the number of dims, but got {dim}")
    return _own(input.narrow(dim, start, length))


@composite(where=_TORCH, out=True)
def alias_copy(input):
    """The tensor, copied."""
    return _own(input)


@composite(where=_TORCH, out=True)
def detach_copy(input):
    """The tensor's values, copied out of the graph."""
    return _own(input.detach())


@composite(where=_TORCH, out=True)
def _conj_copy(input):
    """The conjugate, with memory of its own."""
    return _own(input.conj().resolve_conj())


@composite(where=_TORCH, out=True)
def _neg_view_copy(input):
    """The tensor with its sign turned, with memory of its own."""
    return _own(-input)


@composite(where=_TORCH, out=True)
def _reshape_alias_copy(input, size: Ints, stride: Ints):
    """as_strided at the tensor's own place in its memory, copied."""
    return _own(input.as_strided(size, stride))


# --- splits whose parts may be written to ---------------------------------------------------------


def _alone(part: Any) -> Any:
    """The same memory, and no view: writes are its own matter. A tensor of vmap has no data of its own."""
    return part.detach() if hasattr(part, "level") else part.data


def _unsafe(name: str) -> None:
    row = ROWS[name]

    @wraps(row.body)
    def body(input: Any, *args: Any, **named: Any) -> Any:
        return tuple([_alone(part) for part in row(input, *args, **named)])

    body.__module__ = __name__

    def gradient(s: Any, *grads: Any) -> Any:
        how = [getattr(s, p.name) for p in row.params[1:]]
        whole = next(g for g in grads if g is not None).new_empty(s.shape("input"))
        parts = row(whole, *how)
        dim = wrap_dim(how[-1], whole.ndim)
        return ROWS["cat"](
            [part.new_zeros(part.shape) if g is None else g for part, g in zip_longest(parts, grads)], dim
        )

    made = composite(body, name=f"unsafe_{name}", doc=f"{name}, for callers who write to the parts.")
    made.gradient(gradient)


for _name in ("chunk", "split", "split_with_sizes"):
    _unsafe(_name)
