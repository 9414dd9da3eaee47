"""torch.nn.init: ways to fill a new parameter; the same seed gives PyTorch's numbers.

Every function whose name ends in `_` writes into its first argument, without recording a gradient,
and returns it.
"""

from __future__ import annotations

import math
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.renaming import renamed
from rushlight.overrides import handle_torch_function, has_torch_function_unary

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR = frozenset(
    (
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
    )
)
_GAINS = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """What a nonlinearity shrinks the standard deviation by, to be made up for in the weights.

    param: the slope of leaky_relu, 0.01 unless given.  ValueError for unknown nonlinearities.
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        known = ", ".join(sorted((*_LINEAR, *_GAINS, "leaky_relu")))
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}; the known ones are {known}")
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + slope**2))


# --- plain fills ----------------------------------------------------------------------------------


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: torch.Generator | None = None) -> Any:
    """Fill the tensor in place with uniforms of [a, b), by default [0, 1); returns it, as all functions here
    do.
    """
    if has_torch_function_unary(tensor):
        return handle_torch_function(uniform_, (tensor,), tensor=tensor, a=a, b=b, generator=generator)
    return _no_grad_uniform_(tensor, a, b, generator)


def _no_grad_uniform_(tensor: Any, a: float, b: float, generator: torch.Generator | None = None) -> Any:
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, generator: torch.Generator | None = None
) -> Any:
    """Fill with normals of this mean (0) and standard deviation (1)."""
    if has_torch_function_unary(tensor):
        return handle_torch_function(
            normal_, (tensor,), tensor=tensor, mean=mean, std=std, generator=generator
        )
    return _no_grad_normal_(tensor, mean, std, generator)


def _no_grad_normal_(tensor: Any, mean: float, std: float, generator: torch.Generator | None = None) -> Any:
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Any, val: float) -> Any:
    """Fill with one number."""
    if has_torch_function_unary(tensor):
        return handle_torch_function(constant_, (tensor,), tensor=tensor, val=val)
    return _no_grad_fill_(tensor, val)


def _no_grad_fill_(tensor: Any, val: float) -> Any:
    with torch.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Any) -> Any:
    """Fill with ones."""
    return _no_grad_fill_(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Fill with zeros."""
    return _no_grad_zero_(tensor)


def _no_grad_zero_(tensor: Any) -> Any:
    with torch.no_grad():
        return tensor.zero_()


def eye_(tensor: Any) -> Any:
    """The identity matrix; ValueError unless the tensor has 2 dims."""
    _need_matrix(tensor)
    with torch.no_grad():
        tensor.zero_()
        tensor.diagonal().fill_(1)
    return tensor


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Convolution weights that pass their input channels through, as many as there are.

    tensor: (out, in / groups, *kernel) with 1 to 3 kernel dims; ValueError otherwise, or where
    groups does not divide dim 0.
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(f"Only tensors with 3, 4, or 5 dimensions are supported, got {tensor.ndim}")
    if tensor.size(0) % groups:
        raise ValueError(f"dim 0 must be divisible by groups, got {tensor.size(0)} and {groups}")
    per_group = tensor.size(0) // groups
    centre = tuple(n // 2 for n in tensor.shape[2:])
    with torch.no_grad():
        tensor.zero_()
        for group in range(groups):
            own = tensor[group * per_group : (group + 1) * per_group]
            own[(slice(None), slice(None), *centre)].diagonal().fill_(1)
    return tensor


def _need_matrix(tensor: Any) -> None:
    if tensor.ndim != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, got {tensor.ndim}")


# --- by the size of the layer ---------------------------------------------------------------------


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 "
            f"dimensions, got {tensor.dim()}"
        )
    receptive = 1
    for size in tensor.shape[2:]:
        receptive *= size
    return tensor.size(1) * receptive, tensor.size(0) * receptive


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    modes = ("fan_in", "fan_out")
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {list(modes)}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def _xavier_std(tensor: Any, gain: float) -> float:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out)) if fan_in + fan_out > 0 else 0.0


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: torch.Generator | None = None) -> Any:
    """Uniforms with the variance 2 gain^2 / (fan_in + fan_out) (X. Glorot, Y. Bengio, 2010)."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: torch.Generator | None = None) -> Any:
    """Normals with the variance 2 gain^2 / (fan_in + fan_out) (X. Glorot, Y. Bengio, 2010)."""
    return _no_grad_normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _kaiming_std(tensor: Any, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: torch.Generator | None = None,
) -> Any:
    """Uniforms with the variance gain^2 / fan (K. He et al., 2015).

    a: the slope of leaky_relu.  mode: "fan_in" keeps the variance forward, "fan_out" backward.
    """
    if has_torch_function_unary(tensor):
        options = {"a": a, "mode": mode, "nonlinearity": nonlinearity, "generator": generator}
        return handle_torch_function(kaiming_uniform_, (tensor,), tensor=tensor, **options)
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: torch.Generator | None = None,
) -> Any:
    """Normals with the variance gain^2 / fan (K. He et al., 2015); see kaiming_uniform_."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else _no_grad_normal_(tensor, 0.0, std, generator)


# --- truncated, orthogonal, sparse ----------------------------------------------------------------


def trunc_normal_(
    tensor: Any,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: torch.Generator | None = None,
) -> Any:
    """Fill with normals, drawn again until they lie in [a, b], by default [-2, 2]. A warning where `mean`
    lies far outside.
    """
    return _no_grad_trunc_normal_(tensor, mean, std, a, b, generator)


def _no_grad_trunc_normal_(
    tensor: Any, mean: float, std: float, a: float, b: float, generator: torch.Generator | None = None
) -> Any:
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution "
            "of values may be incorrect."
        )
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    with torch.no_grad():
        draw = _redraw_normals if inside > 0.3 else _thin_uniforms
        made = draw(tensor, mean, std, a, b, generator)
        return tensor if made is tensor else tensor.copy_(made)


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redraw_normals(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> Any:
    """Most normals lie inside: replace the others."""
    low, high = (tensor.new_full((), bound).item() for bound in (a, b))
    made = tensor.normal_(mean, std, generator=generator)
    while (outside := (made < low) | (made > high)).any():
        fresh = torch.empty_like(made).normal_(mean, std, generator=generator)
        made = torch.where(outside, fresh, made)
    return made


def _thin_uniforms(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> Any:
    """Few lie inside: keep uniforms of [a, b) with the probability density / its peak there."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    made, pending = tensor.uniform_(a, b, generator=generator), None
    drawn = made.clone()
    while True:
        density = drawn.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        refused = torch.empty_like(tensor).uniform_(generator=generator).log_().gt(density)
        pending = refused if pending is None else pending & refused
        if not pending.any():
            return made
        drawn = torch.empty_like(tensor).uniform_(a, b, generator=generator)
        made = torch.where(pending, drawn, made)


def orthogonal_(tensor: Any, gain: float = 1, generator: torch.Generator | None = None) -> Any:
    """A (semi-)orthogonal matrix, dims from the second on taken as one (A. Saxe et al., 2013).

    ValueError unless the tensor has at least 2 dims.
    """
    if tensor.ndim < 2:
        raise ValueError(f"Only tensors with 2 or more dimensions are supported, got {tensor.ndim}")
    if not tensor.numel() or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    wide = rows < tensor.numel() // rows
    with torch.no_grad():
        drawn = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
        q, r = torch.linalg.qr(drawn.t() if wide else drawn)
        # QR leaves the signs open; those of r's diagonal make q uniformly distributed.
        q *= r.diagonal().sign()
        tensor.view((rows, -1)).copy_(q.t() if wide else q)
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: torch.Generator | None = None) -> Any:
    """Normals, with the fraction `sparsity` of each column zero (J. Martens, 2010).

    ValueError unless the tensor has 2 dims.
    """
    _need_matrix(tensor)
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[torch.randperm(rows)[:zeros], column] = 0
    return tensor


# --- the names of PyTorch 0.3 ---------------------------------------------------------------------


for _new in (
    uniform_,
    normal_,
    constant_,
    eye_,
    dirac_,
    xavier_uniform_,
    xavier_normal_,
    kaiming_uniform_,
    kaiming_normal_,
    orthogonal_,
    sparse_,
):
    _old = _new.__name__.removesuffix("_")
    _text = f"`nn.init.{_old}` is now deprecated in favor of `nn.init.{_old}_`."
    globals()[_old] = renamed(_new, _old, _text)
