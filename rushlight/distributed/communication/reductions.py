"""ReduceOp, and what a reduction of a tensor is in MPI's terms."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

import rushlight
from rushlight._engine.core.callers import warn
from rushlight.distributed.communication.operation_queue import Steps
from rushlight.distributed.communication.wire import Array, SoloWire


class RedOpType(enum.IntEnum):
    """How values of several ranks become one."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {int(self)}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


class PremulSum:
    """The sum of what each rank has multiplied by a factor. NCCL's alone."""

    op = RedOpType.PREMUL_SUM

    def __init__(self, factor: Any) -> None:
        self.factor = float(factor)

    def __repr__(self) -> str:
        return repr(self.op)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PremulSum) and other.factor == self.factor

    def __hash__(self) -> int:
        return hash((self.op, self.factor))


def _make_nccl_premul_sum(factor: Any) -> PremulSum:
    """PREMUL_SUM with this factor, a number or a tensor of one."""
    return PremulSum(factor)


class _ReduceOpType(type):
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = RedOpType

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, (RedOpType, PremulSum))

    def __call__(cls, op: Any) -> RedOpType:
        return RedOpType(op)


setattr(_ReduceOpType, "RedOpType", RedOpType)


class ReduceOp(metaclass=_ReduceOpType):
    """SUM, AVG, PRODUCT, MIN, MAX; BAND, BOR, BXOR of integers; PREMUL_SUM with NCCL."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = RedOpType


class _reduce_op:
    """The older name of ReduceOp's members; each look-up warns (FutureWarning)."""

    def __getattr__(self, name: str) -> Any:
        if name not in (*RedOpType.__members__, "__members__"):
            raise AttributeError(f"torch.distributed.reduce_op has no {name!r}")
        warn(
            "`torch.distributed.reduce_op` is deprecated, please use `torch.distributed.ReduceOp` instead",
            FutureWarning,
        )
        return getattr(RedOpType, name)


reduce_op = _reduce_op()


def supports_complex(reduceOp: Any) -> bool:
    """Whether an operation is one of complex numbers: SUM, AVG and PREMUL_SUM are."""
    return reduceOp in (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM)


_MPI = {"AVG": "SUM", "PRODUCT": "PROD"}  # where MPI's name is another
_OF_BOOLS = {"SUM": "MAX", "BOR": "MAX", "PROD": "MIN", "BAND": "MIN"}
SMALL = 1 << 16  # bytes
_COMBINED: dict[Any, Any] = {
    RedOpType.SUM: rushlight.Tensor.add_,
    RedOpType.AVG: rushlight.Tensor.add_,
    RedOpType.PRODUCT: rushlight.Tensor.mul_,
    RedOpType.MIN: rushlight.minimum,
    RedOpType.MAX: rushlight.maximum,
}
_REDUCED = frozenset(
    getattr(rushlight, name)
    for name in ("float32 float64 float16 bfloat16 int8 uint8 int32 int64 bool complex64 complex128").split()
)
_CXX = {"int8": "Char", "uint8": "Byte", "int32": "Int", "int64": "Long", "bool": "Bool"}


def check_moved(*tensors: Any) -> None:
    """RuntimeError for dtypes that collectives do not take."""
    if any(t.dtype not in _REDUCED for t in tensors):
        raise RuntimeError("Invalid scalar type")


def check_op(name: str, dtype: Any, op: Any) -> RedOpType:
    """The reduction as PyTorch's gloo takes it: TypeError, ValueError, RuntimeError for others."""
    op = getattr(op, "op", op)
    if not isinstance(op, RedOpType):
        raise TypeError(
            f"{name}(): incompatible function arguments. Expected op to be a torch.distributed."
            f"ReduceOp, got {op!r}"
        )
    if dtype.is_complex and op not in (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM):
        kind = ValueError if name == "all_reduce" else RuntimeError
        raise kind(f"{name} does not support {op} on complex tensors")
    if dtype not in _REDUCED:
        raise RuntimeError("Invalid scalar type")
    if op == RedOpType.PREMUL_SUM:
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM with Gloo")
    real = dtype.is_floating_point or dtype.is_complex
    if real and op in (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR):
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    if op == RedOpType.AVG and not real:
        raise RuntimeError(
            "result type Float can't be cast to the desired output type "
            f"{_CXX[str(dtype).rpartition('.')[2]]}"
        )
    return op


class Buffer:
    """A tensor's elements as one contiguous array: its own memory where that is so, else a copy.

    `store()` puts a copy back into the tensor. `load`: whether the elements are read at all.
    """

    def __init__(self, tensor: Any, load: bool = True) -> None:
        plain = tensor.detach()
        if plain.layout != rushlight.strided:
            raise RuntimeError(
                f"collectives take dense tensors, got one of layout {plain.layout}; call .to_dense() before"
            )
        self._into = None
        if plain.is_cuda:  # it travels through the host's memory
            self._into = plain
            plain = plain.resolve_conj().resolve_neg().to("cpu") if load else _host_memory(plain)
        if not plain.is_contiguous() or plain.is_conj() or plain.is_neg():
            self._into = plain if self._into is None else self._into
            plain = plain.resolve_conj().resolve_neg().contiguous() if load else _host_memory(plain)
        self._plain = plain
        self.array: Array = plain._array.reshape(-1)

    def store(self) -> None:
        """Put the elements back."""
        if self._into is not None:
            self._into.copy_(self._plain)


def _host_memory(like: Any) -> Any:
    return rushlight.empty(like.shape, dtype=like.dtype, device="cpu")


def is_half(data: Array) -> bool:
    """Whether these are floats of two bytes, which MPI does not reduce."""
    return data.itemsize == 2 and data.dtype.kind not in "iu"


def as_numbers(data: Array, op: RedOpType) -> tuple[Array, str]:
    """The same memory in a dtype that MPI reduces, and MPI's reduction."""
    name = _MPI.get(op.name, op.name)
    if data.dtype == bool:
        return data.view(np.uint8), _OF_BOOLS.get(name, name)
    if data.dtype.kind == "c":
        return data.view(data.real.dtype), name
    return data, name


def divide(data: Array, op: RedOpType, ranks: int) -> None:
    """What an average does after the sum."""
    if op == RedOpType.AVG:
        np.divide(data, data.dtype.type(ranks), out=data)


def all_reduced(wire: SoloWire, data: Array, op: RedOpType) -> Steps:
    """Reduce `data` in place, on all ranks."""
    if wire.terms == 1:
        return
    if is_half(data):
        yield from _all_reduced_halves(wire, data, op)
        return
    numbers, name = as_numbers(data, op)
    yield wire.allreduce(numbers, name)
    divide(data, op, wire.terms)


def scattered(wire: SoloWire, source: Array, into: Array, counts: Sequence[int], op: RedOpType) -> Steps:
    """`into` becomes this rank's part of the reduction of `source`. `counts`: elements of each rank's part.

    Floats of two bytes travel as they are and are added up as float32, in the order of the ranks.
    """
    if not is_half(source) or wire.terms == 1:
        numbers, name = as_numbers(source, op)
        scale = numbers.size // max(1, source.size)
        yield wire.reduce_scatter(numbers, as_numbers(into, op)[0], [n * scale for n in counts], name)
        divide(into, op, wire.terms)
        return
    parts = np.empty((wire.size, into.size), source.dtype)
    yield wire.alltoall(source, parts, counts, [into.size] * wire.size)
    _combine(parts, into, op)


def _all_reduced_halves(wire: SoloWire, data: Array, op: RedOpType) -> Steps:
    """Small ones are all sent to all; of large ones each rank reduces its part. Both give the same bits."""
    if data.nbytes <= SMALL:
        parts = np.empty((wire.size, data.size), data.dtype)
        yield wire.allgather(data, parts)
        _combine(parts, data, op)
        return
    part = -(-data.size // wire.size)
    whole = (
        data
        if data.size == part * wire.size
        else np.concatenate([data, np.zeros(part * wire.size - data.size, data.dtype)])
    )
    mine = np.empty(part, data.dtype)
    yield from scattered(wire, whole, mine, [part] * wire.size, op)
    yield wire.allgather(mine, whole)
    if whole is not data:
        data[:] = whole[: data.size]


def _combine(parts: Array, into: Array, op: RedOpType) -> None:
    """Reduce the rows in float32, one after the other; tensors' kernels are faster here than NumPy's."""
    dtype = rushlight.float16 if into.dtype.kind == "f" else rushlight.bfloat16
    first, *rest = (rushlight.from_numpy(part.view(np.uint16)).view(dtype) for part in parts)
    total = first.float()
    for part in rest:
        total = _COMBINED[op](total, part)
    if op == RedOpType.AVG:
        total /= len(parts)
    into.view(np.uint16)[:] = total.to(dtype).view(rushlight.uint16).numpy()
