"""Quantized tensors: levels of a small integer dtype, with a scale and a zero point that say their meaning.

A level q stands for (q - zero_point) * scale; per channel, each place of an axis has its own scale and zero
point. The tensor's memory is its levels. An op comes by `__torch_function__`: those that only move elements,
or keep their order, work on the levels; a few compute with the numbers and quantize again; all others are
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.core import dtype as dt
from rushlight._engine.core.device import CPU
from rushlight._engine.dispatch.overrides import of_rows, unseen
from rushlight._engine.lazy import package
from rushlight._engine.serialization.rebuild import quantized_form
from rushlight._engine.tensors.geometry import NamedConstant
from rushlight._engine.tensors.kind import Kind
from rushlight._engine.tensors.printing import _add_suffixes, format_array
from rushlight._engine.tensors.tensor import Tensor, storage


class qscheme(NamedConstant):
    """How levels stand for numbers: torch.per_tensor_affine and its relatives."""

    __module__ = package()
    __slots__ = ()


per_tensor_affine = qscheme("per_tensor_affine")
per_channel_affine = qscheme("per_channel_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
qint8, quint8, qint32 = dt.QUANTIZED["qint8"], dt.QUANTIZED["quint8"], dt.QUANTIZED["qint32"]
_LEAST_SCALE = 6.1e-5
# The dtype of the levels.
LEVELS: dict[dt.dtype, dt.dtype] = {qint8: dt.int8, quint8: dt.uint8, qint32: dt.int32}
_KINDS = {of: Kind(levels, CPU, False, False) for of, levels in LEVELS.items()}
for _of, _kind in _KINDS.items():
    _kind.dtype = _of


def limits(of: dt.dtype) -> tuple[int, int]:
    """The least and greatest level of a quantized dtype, or of its integers."""
    if of not in LEVELS and of not in (dt.int8, dt.uint8, dt.int32):
        raise RuntimeError(f"expected one of torch.qint8, torch.quint8 and torch.qint32, but got {of}")
    info = np.iinfo(LEVELS.get(of, of).np)
    return int(info.min), int(info.max)


class Quantizer:
    """What the levels of a tensor stand for. scale, zero_point: numbers, or along `axis` tensors."""

    def __init__(self, scale: Any, zero_point: Any, axis: int | None = None) -> None:
        self.scale, self.zero_point, self.axis = scale, zero_point, axis

    @property
    def scheme(self) -> qscheme:
        """Per tensor, or per channel with whole or with other zero points."""
        if self.axis is None:
            return per_tensor_affine
        floating = self.zero_point.is_floating_point()
        return per_channel_affine_float_qparams if floating else per_channel_affine

    def along(self, ndim: int) -> tuple[Any, Any]:
        """(scale, zero_point) as they broadcast to a tensor of `ndim` dims."""
        if self.axis is None:
            return self.scale, self.zero_point
        shape = [-1 if dim == self.axis else 1 for dim in range(ndim)]
        return self.scale.reshape(shape), self.zero_point.reshape(shape)

    def same(self, other: Quantizer) -> bool:
        """Whether equal levels stand for equal numbers."""
        if self.axis is None or other.axis is None:
            return (self.axis, self.scale, self.zero_point) == (other.axis, other.scale, other.zero_point)
        return self.axis == other.axis and bool(
            torch.equal(self.scale, other.scale) and torch.equal(self.zero_point, other.zero_point)
        )

    def quantize(self, numbers: Tensor, of: dt.dtype) -> QuantizedTensor:
        """The tensor of the levels next to `numbers`, float32."""
        scale, zero_point = self.along(numbers.ndim)
        low, high = limits(of)
        if self.axis is None:
            inverse: Any = float(np.float32(1) / np.float32(scale))
        else:
            inverse = scale.float().reciprocal()
        if self.axis is not None and zero_point.is_floating_point():
            levels = (numbers * inverse + zero_point.float()).round()
        else:
            levels = (numbers * inverse).round() + zero_point
        # nan and numbers that no int32 holds are the lowest, as processors convert them.
        levels = levels.where(levels.abs() < 2.0**31, low if of is qint32 else levels).nan_to_num(
            nan=float(low)
        )
        return make(levels.double().clamp(low, high).to(LEVELS[of]), of, self)

    def numbers(self, levels: Tensor) -> Tensor:
        """What levels stand for, float32."""
        scale, zero_point = self.along(levels.ndim)
        if self.axis is None:
            found: Tensor = (levels.int() - zero_point).float() * float(np.float32(scale))
        elif zero_point.is_floating_point():
            found = (levels.float() - zero_point.float()) * scale.float()
        else:
            found = (levels.int() - zero_point).float() * scale.float()
        return found


def make(levels: Tensor, of: dt.dtype, quantizer: Quantizer) -> QuantizedTensor:
    """A quantized tensor over the memory of its levels, integers of the dtype that `of` has."""
    made: QuantizedTensor = object.__new__(QuantizedTensor)
    made._kind, made._grad_node, made._output_nr = _KINDS[of], None, 0
    made._array, made._storage = levels._array, storage(levels)
    made.__dict__.update(levels=levels, quantizer=quantizer)
    return made


class QuantizedTensor(Tensor):
    """Made by quantize_per_tensor, quantize_per_channel and by quantized layers."""

    __slots__ = ()
    _prints_itself = True
    levels: Tensor
    quantizer: Quantizer

    @classmethod
    @unseen
    @of_rows
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__
        found = _OPS.get(name)
        if found is None:
            raise NotImplementedError(
                f"Could not run 'aten::{name}' with arguments from the 'QuantizedCPU' backend: it is not "
                "written for quantized tensors; use .dequantize() first"
            )
        return found(func, *args, **(kwargs or {}))

    @property
    def is_quantized(self) -> bool:
        """True."""
        return True

    def qscheme(self) -> qscheme:
        """How levels stand for numbers."""
        return self.quantizer.scheme

    def int_repr(self) -> Tensor:
        """The levels, as integers."""
        return self.levels.clone()

    def dequantize(self) -> Tensor:
        """The numbers that the levels stand for, float32."""
        return self.quantizer.numbers(self.levels)

    def _per_tensor(self, name: str) -> Quantizer:
        if self.quantizer.axis is not None:
            raise RuntimeError(f"{name}: Expected quantizer->qscheme() == kPerTensorAffine to be true.")
        return self.quantizer

    def _per_channel(self, name: str) -> Quantizer:
        if self.quantizer.axis is None:
            raise RuntimeError(f"{name}: Expected quantizer->qscheme() == kPerChannelAffine to be true.")
        return self.quantizer

    def q_scale(self) -> float:
        """The scale."""
        return float(self._per_tensor("q_scale").scale)

    def q_zero_point(self) -> int:
        """The zero point."""
        return int(self._per_tensor("q_zero_point").zero_point)

    def q_per_channel_scales(self) -> Tensor:
        """The scales along the axis."""
        found: Tensor = self._per_channel("q_per_channel_scales").scale
        return found

    def q_per_channel_zero_points(self) -> Tensor:
        """The zero points along the axis."""
        found: Tensor = self._per_channel("q_per_channel_zero_points").zero_point
        return found

    def q_per_channel_axis(self) -> int:
        """The axis whose places have their own scales."""
        return int(self._per_channel("q_per_channel_axis").axis or 0)

    def copy_(self, other: Any, non_blocking: bool = False) -> QuantizedTensor:
        """Quantize numbers as this tensor is, or take another's levels with what they stand for."""
        if isinstance(other, QuantizedTensor):
            if other.dtype is not self.dtype:
                raise RuntimeError("Quantized Copy only works with Quantized Tensors of one dtype")
            self.quantizer = other.quantizer
            self.levels.copy_(other.levels)
        else:
            self.levels.copy_(self.quantizer.quantize(other.float(), self.dtype).levels)
        return self

    def detach(self) -> QuantizedTensor:
        """The same memory."""
        return make(self.levels, self.dtype, self.quantizer)

    def __deepcopy__(self, memo: Any) -> QuantizedTensor:
        return make(self.levels.clone(), self.dtype, self.quantizer)

    def __reduce_ex__(self, protocol: Any) -> Any:
        q, scheme = self.quantizer, self.quantizer.scheme
        if q.axis is None:
            return quantized_form(self.levels, self.dtype, (scheme, self.q_scale(), self.q_zero_point()))
        # Files tell the zero points' kind by the tensor alone.
        return quantized_form(self.levels, self.dtype, (per_channel_affine, q.scale, q.zero_point, q.axis))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        text, q = "tensor(" + format_array(self.dequantize()._array, 7), self.quantizer
        parts = [f"size={tuple(self.shape)}", f"dtype={self.dtype}", f"quantization_scheme={q.scheme}"]
        if q.axis is None:
            parts += [f"scale={float(q.scale)}", f"zero_point={int(q.zero_point)}"]
        else:
            parts += [f"scale={q.scale}", f"zero_point={q.zero_point}", f"axis={q.axis}"]
        return _add_suffixes(text, parts, 7)

    __str__ = __repr__


def _rebuild_quantized(levels: Tensor, of: dt.dtype, scale: Any, zero_point: Any, axis: Any) -> Any:
    """What files held before they held PyTorch's form."""
    return make(levels, of, Quantizer(scale, zero_point, axis))


def of_file(levels: Tensor, of: dt.dtype, params: tuple[Any, ...]) -> QuantizedTensor:
    """A quantized tensor over levels, as a file tells it. params: its scheme, and what it needs.

    RuntimeError for a scheme that files do not have; ValueError where scales and the shape do not fit.
    """
    scheme, scale, zero_point, *axis = params
    if of not in LEVELS or scheme not in (
        per_tensor_affine,
        per_channel_affine,
        per_channel_affine_float_qparams,
    ):
        raise RuntimeError(f"Can't deserialize quantized tensor with qscheme {scheme}, of {of}")
    if scheme is per_tensor_affine:
        return make(levels, of, Quantizer(float(scale), int(zero_point)))
    if not 0 <= axis[0] < levels.ndim:
        raise ValueError(
            f"_rebuild_qtensor: per_channel axis {axis[0]} out of range for size {tuple(levels.shape)}"
        )
    scale, zero_point, expected = torch.as_tensor(scale), torch.as_tensor(zero_point), levels.shape[axis[0]]
    if scale.numel() != expected or zero_point.numel() != expected:
        raise ValueError(
            "_rebuild_qtensor: per_channel scales/zero_points length must equal "
            f"size[axis]={expected}, got scales={scale.numel()}, zero_points={zero_point.numel()}"
        )
    floating = scheme is per_channel_affine_float_qparams or zero_point.is_floating_point()
    scale, zero_point = (
        scale.to(dt.float32 if floating else dt.float64),
        zero_point.to(dt.float32 if floating else dt.int64),
    )
    return make(levels, of, Quantizer(scale, zero_point, axis[0]))


# --- making them ------------------------------------------------------------------------------------


def _number(value: Any, kind: type) -> Any:
    return kind(value.item() if isinstance(value, Tensor) else value)


def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: dt.dtype) -> Any:
    """input (float32) at levels of one scale and zero point; of a list of tensors, a list."""
    if isinstance(input, (list, tuple)):
        return [quantize_per_tensor(*one, dtype) for one in zip(input, scale, zero_point, strict=True)]
    _check_float(input, "quantize_per_tensor")
    low, high = limits(dtype)
    level = _number(zero_point, int)
    if not low <= level <= high:
        side, bound = ("below lower", low) if level < low else ("above upper", high)
        raise RuntimeError(f"quantize_tensor_per_tensor_affine zero_point {level} is {side} bound {bound}.")
    return Quantizer(_number(scale, float), level).quantize(input, dtype)


def _check_float(input: Tensor, name: str) -> None:
    if input.dtype is not dt.float32:
        raise RuntimeError(
            f"Quantize only works on Float Tensor, got {input.dtype.legacy}: {name}; use .float()"
        )


def quantize_per_channel(
    input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: dt.dtype
) -> Any:
    """input (float32) at levels of the scales and zero points (input.shape[axis],) along an axis."""
    _check_float(input, "quantize_per_channel")
    if scales.ndim != 1 or scales.numel() != input.shape[axis] or zero_points.numel() != scales.numel():
        raise RuntimeError(
            f"expected {input.shape[axis]} scales and zero points along dim {axis}, but got "
            f"{scales.numel()} and {zero_points.numel()}"
        )
    floating = zero_points.is_floating_point()
    held = Quantizer(
        scales.detach().to(dt.float32 if floating else dt.float64),
        zero_points.detach().to(dt.float32 if floating else dt.int64),
        axis,
    )
    return held.quantize(input, dtype)


def quantize_per_tensor_dynamic(input: Tensor, dtype: dt.dtype, reduce_range: bool) -> Any:
    """input at levels that span its own range; `reduce_range`: of one bit less."""
    scale, zero_point = choose_qparams(input, *limits(dtype), reduce_range=reduce_range)
    return quantize_per_tensor(input, scale, zero_point, dtype)


def choose_qparams(
    input: Tensor, low: int = 0, high: int = 255, reduce_range: bool = False
) -> tuple[float, int]:
    """(scale, zero_point) with which levels low to high, or half of them, span a tensor's range and 0."""
    ends = torch.aminmax(input) if input.numel() else (torch.zeros(()), torch.zeros(()))
    low, high = (low // 2, high // 2) if reduce_range else (low, high)
    least, most = (v.detach().double().numpy() for v in ends)
    scale, zero_point = levels_over(least, most, low, high)
    return float(scale), int(zero_point)


def levels_over(least: Any, most: Any, low: int, high: int, symmetric: bool = False) -> tuple[Any, Any]:
    """(scales, zero points), arrays, with which levels low to high span numbers from least to most, and 0.

    symmetric: 0 lies in the middle of the levels, where there are numbers on both sides of it.
    """
    least, most = np.minimum(least, 0.0), np.maximum(most, 0.0)
    both = symmetric & (least < 0) & (most > 0)
    below, above = -((high - low) // 2 + 1), (high - low) // 2
    widest = np.maximum(np.abs(least / below), np.abs(most / above))
    least, most = np.where(both, widest * below, least), np.where(both, widest * above, most)
    scale = (most - least) / (high - low)
    with np.errstate(divide="ignore", invalid="ignore"):
        empty = (scale.astype(np.float32) == 0) | np.isinf(1 / scale.astype(np.float32))
        scale = np.where(empty, 0.1, scale)
        grown = np.where(scale < _LEAST_SCALE, _LEAST_SCALE / scale, 1.0)
    spread, small = _LEAST_SCALE * (high - low), scale < _LEAST_SCALE
    least, most = (
        np.where(small & (most == 0), -spread, least * grown),
        np.where(small & (least == 0), spread, most * grown),
    )
    scale = np.maximum(scale, _LEAST_SCALE)
    by_least = abs(low) + np.abs(least / scale) < abs(high) + np.abs(most / scale)
    first = np.where(by_least, low - least / scale, high - most / scale)
    first = np.where(both, (low + high) / 2, first)
    return scale, np.clip(np.rint(first), low, high)


def _choose_qparams_per_tensor(input: Tensor, reduce_range: bool = False) -> tuple[float, int]:
    """choose_qparams for quint8."""
    return choose_qparams(input, reduce_range=reduce_range)


def _make_per_tensor_quantized_tensor(input: Tensor, scale: float, zero_point: int) -> Any:
    """A quantized tensor with these levels."""
    of = next(q for q, levels in LEVELS.items() if levels is input.dtype)
    return make(input.clone(), of, Quantizer(float(scale), int(zero_point)))


def _make_per_channel_quantized_tensor(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> Any:
    """A quantized tensor with these levels, with scales and zero points along an axis."""
    of = next(q for q, levels in LEVELS.items() if levels is input.dtype)
    return make(input.clone(), of, Quantizer(scale.double(), zero_point.long(), axis))


def _empty_affine_quantized(
    *size: Any, scale: float = 1, zero_point: int = 0, dtype: dt.dtype = quint8, **options: Any
) -> Any:
    """A quantized tensor of arbitrary levels."""
    shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return make(
        torch.empty(tuple(shape), dtype=LEVELS[dtype]), dtype, Quantizer(float(scale), int(zero_point))
    )


def _empty_per_channel_affine_quantized(
    size: Any, *, scales: Tensor, zero_points: Tensor, axis: int, dtype: dt.dtype = quint8, **options: Any
) -> Any:
    """A quantized tensor of arbitrary levels, with scales and zero points along an axis."""
    held = Quantizer(scales.double(), zero_points.long(), axis)
    return make(torch.empty(tuple(size), dtype=LEVELS[dtype]), dtype, held)


def dequantize(tensors: Any) -> Any:
    """The numbers that a quantized tensor stands for, or each of several."""
    if isinstance(tensors, (list, tuple)):
        return type(tensors)(dequantize(t) for t in tensors)
    return tensors.dequantize()


def _asking(name: str) -> Callable[..., Any]:
    def ask(input: Tensor) -> Any:
        return getattr(_quantized(input, name), name)()

    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = getattr(QuantizedTensor, name).__doc__
    return ask


def _quantized(input: Any, name: str) -> QuantizedTensor:
    if not isinstance(input, QuantizedTensor):
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: it is of quantized "
            "tensors, which torch.quantize_per_tensor() makes"
        )
    return input


int_repr, q_scale, q_zero_point = map(_asking, ("int_repr", "q_scale", "q_zero_point"))
q_per_channel_scales, q_per_channel_zero_points, q_per_channel_axis = map(
    _asking, ("q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis")
)


# --- ops ------------------------------------------------------------------------------------------------


def _moved(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """An op that moves elements, or keeps their order: of the levels."""
    found = func(input.levels, *args, **kwargs)
    if input.quantizer.axis is not None and func.__name__ not in ("clone", "contiguous", "detach"):
        raise RuntimeError(f"{func.__name__} of a tensor quantized per channel: use .dequantize() first")
    return _rewrap(found, input)


def _rewrap(found: Any, like: QuantizedTensor) -> Any:
    if isinstance(found, tuple):
        made = [_rewrap(one, like) if one.dtype is like.levels.dtype else one for one in found]
        return type(found)(*made) if hasattr(found, "_fields") else tuple(made)
    return make(found, like.dtype, like.quantizer)


def _again(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    """An op on the numbers, whose result is quantized as its input is."""
    return input.quantizer.quantize(func(input.dequantize(), *args, **kwargs), input.dtype)


def _as_numbers(func: Any, *args: Any, **kwargs: Any) -> Any:
    """An op on the numbers that quantized operands stand for."""
    return func(*[dequantize(a) if isinstance(a, QuantizedTensor) else a for a in args], **kwargs)


def _same(func: Any, input: Any, other: Any) -> bool:
    if not (isinstance(input, QuantizedTensor) and isinstance(other, QuantizedTensor)):
        return False
    alike = input.dtype is other.dtype and input.quantizer.same(other.quantizer)
    return alike and bool(torch.equal(input.levels, other.levels))


def _relu(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    return make(input.levels.clamp(min=input.q_zero_point()), input.dtype, input.quantizer)


def _joined(func: Any, tensors: Any, dim: int = 0) -> Any:
    first = tensors[0]
    return first.quantizer.quantize(func([t.dequantize() for t in tensors], dim), first.dtype)


def _cast(func: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
    given = [*args, *kwargs.values()]
    dtypes = [value for value in given if isinstance(value, torch.dtype) and value is not input.dtype]
    if dtypes:
        raise RuntimeError(f"a quantized tensor is converted by .dequantize(), not to {dtypes[0]}")
    return input


_OPS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(
        "clone contiguous view _view reshape flatten unflatten squeeze unsqueeze permute transpose t select "
        "slice "
        "narrow expand repeat index_select __getitem__ getitem split chunk unbind view_as max min sort topk "
        "max_pool1d max_pool2d max_pool3d adaptive_max_pool2d pixel_shuffle detach movedim swapaxes "
        "channel_shuffle as_strided unfold alias".split(),
        _moved,
    ),
    **dict.fromkeys(
        "mean avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d "
        "interpolate upsample hardtanh clamp leaky_relu relu6 threshold pad constant_pad".split(),
        _again,
    ),
    **dict.fromkeys(
        "eq ne lt le gt ge __eq__ __ne__ __lt__ __le__ __gt__ __ge__ allclose isclose".split(), _as_numbers
    ),
    **dict.fromkeys(("relu", "relu_"), _relu),
    **dict.fromkeys(("cat", "concat", "concatenate", "stack"), _joined),
    **dict.fromkeys(("to", "cpu", "type_as"), _cast),
    "equal": _same,
}
