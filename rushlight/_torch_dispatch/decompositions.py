"""Ops that are rows here and made of others in PyTorch, spelled in those: what a listener below autograd
hears.

Each function takes the row's arguments by its names. What PyTorch's own composites do with shapes and sizes
is repeated where a listener can tell the difference; numbers are the row's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.layout import infer_size, view_strides
from rushlight._torch_dispatch import gradients
from rushlight._torch_dispatch.backward_ops import INSIDE
from rushlight.export import spellings

F = torch.nn.functional


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """t, then addmm or mm; more dims are folded into one."""
    if input.dim() == 2 and bias is not None:
        return torch.addmm(bias, input, weight.t())
    if input.dim() > 2 and bias is not None and input.is_contiguous():
        found = torch.addmm(bias, input.view(_rows(input), input.shape[-1]), weight.t())
        return found.view(*input.shape[:-1], weight.shape[0])
    found = matmul(input, weight.t())
    return found if bias is None else torch.add(found, bias)


def _rows(input: Any) -> int:
    """How many rows a tensor has as a matrix: whatever is left, where that is told."""
    return -1 if input.shape[-1] else math.prod(input.shape[:-1])


def matmul(input: Any, other: Any) -> Any:
    """dot, mv, mm or bmm of what is folded or expanded to them."""
    a, b = input.dim(), other.dim()
    if a == 1 and b == 1:
        return torch.dot(input, other)
    if a == 2 and b == 1:
        return torch.mv(input, other)
    if a == 1 and b == 2:
        return torch.mm(input.unsqueeze(0), other).squeeze(0)
    if a == 2 and b == 2:
        return torch.mm(input, other)
    if a >= 3 and b in (1, 2):
        sizes = [*input.shape[:-1], *other.shape[1:]]
        flat = input.reshape(_rows(input), input.shape[-1])
        return _unsafe_view(torch.mv(flat, other) if b == 1 else torch.mm(flat, other), sizes)
    wide = input.unsqueeze(0) if a == 1 else input
    tall = other.unsqueeze(-1) if b == 1 else other
    batch = torch.broadcast_shapes(wide.shape[:-2], tall.shape[:-2])
    n, m, p, count = wide.shape[-2], wide.shape[-1], tall.shape[-1], math.prod(batch)
    found = torch.bmm(
        wide.expand(*batch, n, m).reshape(count, n, m), tall.expand(*batch, m, p).reshape(count, m, p)
    )
    return _unsafe_view(found, [*batch, *[n] * (a > 1), *[p] * (b > 1)])


def reshape(input: Any, shape: Any) -> Any:
    """A view where strides allow it, else one of a copy."""
    sizes = [shape] if isinstance(shape, int) else list(shape)
    lies = input._geometry
    steps = [step // lies.itemsize for step in lies.strides]
    if view_strides(lies.shape, steps, infer_size([int(n) for n in sizes], lies.size)) is not None:
        return input.view(sizes)
    return _unsafe_view(input.clone(memory_format=torch.contiguous_format), sizes)


def _unsafe_view(made: Any, sizes: Any) -> Any:
    """A view of what nothing else sees, which PyTorch does not count as one."""
    aten: Any = torch.ops.aten
    return aten._unsafe_view.default(made, sizes)


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """reshape to fewer dims."""
    if input.dim() == 0:
        return reshape(input, (1,))
    first, last = start_dim % input.dim(), end_dim % input.dim()
    if first == last:
        return input
    merged = math.prod(input.shape[first : last + 1])
    return reshape(input, [*input.shape[:first], merged, *input.shape[last + 1 :]])


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """log_softmax and nll_loss; NotImplemented for probabilities and smoothing, which go whole."""
    if target.is_floating_point() or label_smoothing or size_average is not None or reduce is not None:
        return NotImplemented
    dim = 0 if input.dim() == 1 else 1
    return F.nll_loss(
        torch.log_softmax(input, dim), target, weight, ignore_index=ignore_index, reduction=reduction
    )


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """bernoulli_ of an empty mask, which is scaled and multiplied."""
    if not training or p == 0 or inplace:
        return input if not inplace else NotImplemented
    if p == 1:
        return input * torch.zeros_like(input)
    return NotImplemented


def square(input: Any) -> Any:
    """The second power."""
    return torch.pow(input, 2)


def movedim(input: Any, source: Any, destination: Any) -> Any:
    """A permutation."""
    source = [source] if isinstance(source, int) else list(source)
    destination = [destination] if isinstance(destination, int) else list(destination)
    source, destination = ([d % input.dim() for d in dims] for dims in (source, destination))
    rest, order = [d for d in range(input.dim()) if d not in source], [0] * input.dim()
    for d, s in zip(destination, source, strict=True):
        order[d] = s
    for d, s in zip([d for d in range(input.dim()) if d not in destination], rest, strict=True):
        order[d] = s
    return input.permute(order)


def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """A slice."""
    start = int(start)
    start += input.shape[dim] * (start < 0)
    aten: Any = torch.ops.aten
    return aten.slice.Tensor(input, dim, start, start + length)


def chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    """split by a size."""
    size = -(-input.shape[dim] // chunks)
    return torch.split(input, size, dim)


def expand_as(input: Any, other: Any) -> Any:
    """expand to its sizes."""
    return input.expand(other.shape)


def outer(input: Any, vec2: Any) -> Any:
    """A product of a column and a row."""
    return input.view(input.shape[0], 1) * vec2


def repeat_interleave(
    input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    """By a tensor of numbers: index_select of the positions that these give."""
    if not isinstance(input, torch.Tensor) or not isinstance(repeats, torch.Tensor) or repeats.dim() > 1:
        return NotImplemented
    whole = input.reshape(-1) if dim is None else input
    at = 0 if dim is None else dim
    size = whole.shape[at] if whole.dim() else 1
    if repeats.numel() == 1:
        repeats = repeats.reshape(1).expand(size)
    elif len(repeats) != size:
        return NotImplemented
    return torch.index_select(whole, at, torch.repeat_interleave(repeats, output_size=output_size))


def l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """The mean of absolute differences."""
    if weight is not None or size_average is not None or reduce is not None:
        return NotImplemented
    found = (input - target).abs()
    return found if reduction == "none" else found.mean() if reduction == "mean" else found.sum()


def _sum_of_outers(input: Any, other: Any) -> Any:
    """What linear's gradient is to its weight: mm of one transposed."""
    if input.dim() != 2:
        input, other = input.reshape(-1, input.shape[-1]), other.reshape(-1, other.shape[-1])
    return torch.mm(input.t(), other)


def softsign(input: Any) -> Any:
    """A quotient."""
    return input / (input.abs() + 1)


def selu(input: Any) -> Any:
    """elu of two numbers."""
    aten: Any = torch.ops.aten
    return aten.elu.default(input, 1.6732632423543772, 1.0507009873554805)


def _where(condition: Any, input: Any, other: Any) -> Any:
    """Numbers as tensors without dims."""
    both = isinstance(input, torch.Tensor), isinstance(other, torch.Tensor)
    if all(both):
        return NotImplemented
    dtype = torch.result_type(input, other)
    one, two = (
        t if real else torch.scalar_tensor(t, dtype=dtype, device=condition.device)
        for t, real in zip((input, other), both, strict=True)
    )
    return torch.where(condition, one, two)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """An op of its own, but for the mean of all."""
    sizes = [output_size] * 2 if output_size is None or isinstance(output_size, int) else output_size
    whole = [n if m is None else m for n, m in zip(input.shape[-2:], sizes, strict=True)]
    if whole == [1, 1]:
        return input.mean([-1, -2], keepdim=True)
    aten: Any = torch.ops.aten
    return aten._adaptive_avg_pool2d.default(input, whole)


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: Any = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """The upsample op of the mode; NotImplemented where it is no upsample op, or the arguments are wrong."""
    dims = input.dim() - 2
    if recompute_scale_factor or (size is None) == (scale_factor is None) or dims not in (1, 2, 3):
        return NotImplemented
    spelled = spellings.resample_op(mode, dims, antialias)
    if spelled is None:
        return NotImplemented
    scales: list[Any] = []
    if scale_factor is not None:
        several = scale_factor if isinstance(scale_factor, (tuple, list)) else [scale_factor] * dims
        scales = [float(n) for n in several]
        size = [math.floor(n * scale) for n, scale in zip(input.shape[2:], scales, strict=True)]
    whole = [size] * dims if isinstance(size, int) else list(size)
    op = getattr(torch.ops.aten, spelled).default
    if gradients.is_opened(op, [input]):
        return NotImplemented  # it would come back as what it is made of
    if mode.startswith("nearest"):
        return op(input, whole, *scales)
    return op(input, whole, bool(align_corners), *scales)


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Any = None
) -> Any:
    """grid_sampler_2d or grid_sampler_3d."""
    aten: Any = torch.ops.aten
    given = spellings.grid_sampler(mode, padding_mode)
    if given is None or input.dim() not in (4, 5):
        return NotImplemented
    op = aten.grid_sampler_2d.default if input.dim() == 4 else aten.grid_sampler_3d.default
    return op(input, grid, *given, bool(align_corners))


def tanhshrink(input: Any) -> Any:
    """What is left of the input."""
    return input - torch.tanh(input)


def instead(name: str) -> Callable[..., Any] | None:
    """What a row is made of; None where it is an op of its own."""
    return None if INSIDE.depth and name in _BY_THEMSELVES else _TABLE.get(name)


def _complex_part(input: Any, which: str) -> Any:
    """x.real and x.imag."""
    return torch.view_as_real(input).select(-1, 0 if which == "real" else 1)


# What is computed by the row of the same name: inside of a gradient, by its rows.
_BY_THEMSELVES = frozenset(("interpolate", "adaptive_avg_pool2d", "grid_sample"))


_TABLE: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        linear,
        matmul,
        reshape,
        flatten,
        cross_entropy,
        dropout,
        square,
        movedim,
        narrow,
        chunk,
        expand_as,
        outer,
        repeat_interleave,
        l1_loss,
        softsign,
        selu,
        _where,
        adaptive_avg_pool2d,
        interpolate,
        grid_sample,
        tanhshrink,
        _sum_of_outers,
        _complex_part,
    )
}
