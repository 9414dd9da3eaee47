"""`out=`: results written into a tensor that the caller brings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.in_place import refuse_inference, refuse_shared
from rushlight._engine.core.callers import warn
from rushlight._engine.core.dtype import dtype
from rushlight._engine.core.errors import wrong_type
from rushlight._engine.core.layout import check_apart_from_itself, shared
from rushlight._engine.core.promotion import can_cast
from rushlight._engine.core.recording import TAPE, settle
from rushlight._engine.core.results import given_out
from rushlight._engine.ops.table import REFUSALS, ROWS, Row
from rushlight._engine.tensors.lazy_views import memory, place, read
from rushlight._engine.tensors.storages.storage import strided
from rushlight._engine.tensors.tensor import Tensor, storage


def compute_into(
    op: str,
    out: Any,
    values: Sequence[Any],
    compute: Callable[[], Any],
    directly: Callable[[Tensor], bool] | None = None,
) -> Any:
    """Run `compute` without recording and write its result(s) into `out`; returns `out`.

    directly: computes in `out`'s own memory where it is like a result's; whether it did.

    Rows with the option `out_apart` refuse an `out` that shares memory with an operand, those
    with `out_list` take a list and return nothing.
    """
    outs = out if isinstance(out, (tuple, list)) else (out,)
    for o in outs:
        if not isinstance(o, Tensor):
            raise wrong_type(op, "out", "Tensor", o)
    tracked = [v for v in (*values, *outs) if isinstance(v, Tensor) and v._grad_node is not None]
    if LOCAL.enabled and tracked:
        raise RuntimeError(
            f"{op}(): functions with out=... arguments don't support automatic differentiation, but one of "
            "the arguments requires grad; leave out= away or run it under torch.no_grad()"
        )
    asked = [v for v in values if v.__class__ is dtype]
    for o in outs:
        refuse_inference(o)
        if ROWS[op].kind == "pointwise":
            refuse_shared(o, values)
        if asked and asked[0] is not o._kind.dtype:
            raise RuntimeError(_asked_for(op, asked[0], o._kind.dtype))
    before, LOCAL.enabled = LOCAL.enabled, False
    try:
        if directly is not None and out.__class__ is Tensor and directly(out):
            storage(out).version += 1
            return out
        result = compute()
    finally:
        LOCAL.enabled = before
    results = result if isinstance(result, (tuple, list)) else (result,)
    _check(ROWS[op], outs, results, values)
    for o, r in zip(outs, results, strict=True):
        write(op, o, r)
    if ROWS[op].options.get("out_list"):
        return None
    return out if isinstance(out, Tensor) else given_out(result, outs)


_EXACT = "Expected out tensor to have dtype {want}, but got {got} instead"
# nansum's words for an `out` of another dtype than `dtype` says.
_OF_NANSUM = "nansum: provided dtype must match dtype of result. Got {got} and {want}."
_CPP = {
    "Long": "long int",
    "Char": "signed char",
    "Byte": "unsigned char",
    "Short": "short int",
    "Half": "c10::Half",
    "BFloat16": "c10::BFloat16",
    "ComplexFloat": "c10::complex<float>",
    "ComplexDouble": "c10::complex<double>",
}


def _in_cpp(of: dtype) -> str:
    """What C++ calls a dtype, as PyTorch's messages have it."""
    return _CPP.get(of.legacy, of.legacy.lower())


def _asked_for(op: str, want: dtype, got: dtype) -> str:
    """The message for an `out` of another dtype than the call's `dtype`."""
    if op in ("nansum", "nanmean"):
        return _OF_NANSUM.format(got=got.legacy, want=want.legacy)
    if op in ("linalg_norm", "linalg_matrix_norm"):
        name = op.replace("_", ".", 1)
        return f"{name} expected out tensor dtype {want.legacy} but got: {got.legacy}"
    return _EXACT.format(want=_in_cpp(want), got=_in_cpp(got))


def _check(row: Row, outs: Sequence[Tensor], results: Sequence[Any], values: Sequence[Any]) -> None:
    usual = {} if row.kind in ("pointwise", "reduce") else {"exact": _EXACT}
    facts = REFUSALS.get(f"{row.name}/out", usual)
    words = facts.get("exact") if "cast" not in facts or len(outs) > 1 else None
    said = () if words is None else words.split("|")  # a sentence for each result, or one for all
    for i, (o, r) in enumerate(zip(outs, results, strict=True)):
        check_apart_from_itself(o._geometry)
        if said and o._kind.dtype is not r._kind.dtype:
            own, given = r._kind.dtype, o._kind.dtype
            raise RuntimeError(
                said[min(i, len(said) - 1)].format(
                    want=_in_cpp(own), got=_in_cpp(given), Want=own.legacy, Got=given.legacy
                )
            )
    if row.options.get("out_apart"):
        _check_apart(outs, values)


def _check_apart(outs: Sequence[Tensor], values: Sequence[Any]) -> None:
    for v in values:
        for item in v if isinstance(v, (list, tuple)) else (v,):
            if isinstance(item, Tensor) and any(_shares_memory(item, o) for o in outs):
                raise shared("some elements of the input tensor and the written-to tensor refer")


def _shares_memory(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors may see the same numbers; all of meta's lie in the same place, which is nowhere."""
    apart = one is not other and (one._storage is None or one._storage is not other._storage)
    if apart and (one._kind.on_meta or other._kind.on_meta):
        return False
    return bool(np.may_share_memory(one._memory, other._memory))


def write(op: str, out: Tensor, result: Tensor) -> None:
    """Copy `result` into `out`, resized where the shape differs, as PyTorch does with a warning."""
    facts = REFUSALS.get(f"{op}/out", ())
    if not can_cast(result._kind.dtype, out._kind.dtype) and "any" not in facts:
        raise (TypeError if "joined" in facts else RuntimeError)(
            f"result type {result._kind.dtype.legacy} can't be cast to the desired output type "
            f"{out._kind.dtype.legacy}; pass an out= of dtype {result._kind.dtype}"
        )
    if out._kind.device != result._kind.device:  # before anything is written
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two "
            f"devices, {result._kind.device} and {out._kind.device}!"
        )
    if out._geometry.shape != result._geometry.shape:
        resize(out, result._geometry.shape)
        place(
            out,
            strided(
                storage(out).bytes(out._memory),
                out._geometry.dtype,
                result._geometry.shape,
                result.stride(),
                out.storage_offset(),
            ),
            out._kind,
        )
    overwrite(out, result)
    storage(out).version += 1


def overwrite(target: Tensor, result: Tensor) -> None:
    """The memory of `target` takes the values of `result`."""
    if not target._kind.on_meta:
        if target._kind.lazy:
            target, result = memory(target), read(result, target._kind)
        settle()
        with np.errstate(all="ignore"):
            target._array[...] = result._array
        if TAPE:
            TAPE[-1].write(np.copyto, (target._array, result._array, "unsafe"), (target, result))


def resize(out: Tensor, sizes: tuple[int, ...]) -> None:
    """Give `out` another shape; a warning unless it was empty."""
    if out._geometry.size:
        warn(
            "An output with one or more elements was resized since it had shape "
            f"{list(out._geometry.shape)}, which does not match the required output shape {list(sizes)}. "
            "This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
            "unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, "
            "inplace, to zero elements with t.resize_(0).",
            UserWarning,
        )
    out.resize_(sizes)
