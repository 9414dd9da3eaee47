"""Calls whose op has another shape in PyTorch's own vocabulary: which op it is depends on an argument.

`F.interpolate(x, mode="bilinear")` is one row here and `aten::upsample_bilinear2d` in a graph of PyTorch's.
SPELLED says it in that direction, `meaning` in the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import rushlight as torch
from rushlight._engine.ops.nn.interpolation import resized
from rushlight.nn import functional as F

Bound = dict[str, Any]
# An overload's dotted name, and its arguments by its own names; None where the row's name serves.
Spelling = tuple[str, Bound] | None

_GRID_MODES = ("bilinear", "nearest", "bicubic")
_GRID_PADDINGS = ("zeros", "border", "reflection")
_CDIST_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)
_RESAMPLED = {
    "nearest": "upsample_nearest{}d",
    "nearest-exact": "_upsample_nearest_exact{}d",
    "linear": "upsample_linear1d",
    "bilinear": "upsample_bilinear2d",
    "bicubic": "upsample_bicubic2d",
    "trilinear": "upsample_trilinear3d",
}


def _each(value: Any, dims: int) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value] * dims


def resample_op(mode: str, dims: int, antialias: bool) -> str | None:
    """The op that interpolates images of so many dims by a mode; None where there is none."""
    name = _RESAMPLED.get(mode, "").format(dims)
    if not name.endswith(f"{dims}d"):
        return None
    return f"_{name}_aa" if antialias else name


def grid_sampler(mode: str, padding_mode: str) -> tuple[int, int] | None:
    """The numbers that grid_sampler's ops have for two modes; None where there is no such mode."""
    if mode not in _GRID_MODES or padding_mode not in _GRID_PADDINGS:
        return None
    return _GRID_MODES.index(mode), _GRID_PADDINGS.index(padding_mode)


def interpolated(given: Bound, sizes_of: Callable[[Any], Any]) -> Bound:
    """interpolate's arguments, with the sizes that it comes to where it does not hand its factors on."""
    x, scales = given["input"], given["scale_factor"]
    if scales is None or not (given["recompute_scale_factor"] or given["mode"] == "area"):
        return given
    factors = [float(s) for s in _each(scales, x.dim() - 2)]
    whole = [math.floor(torch.sym_float(n) * s) for n, s in zip(sizes_of(x)[2:], factors, strict=True)]
    return given | {"size": whole, "scale_factor": None, "recompute_scale_factor": None}


def _interpolate(given: Bound) -> Spelling:
    given = interpolated(given, lambda x: x.shape)
    x, mode = given["input"], given["mode"]
    dims = x.dim() - 2
    size, scales = given["size"], given["scale_factor"]
    sizes = None if size is None else _each(size, dims)
    factors = None if scales is None else [float(s) for s in _each(scales, dims)]
    if mode == "area":
        return f"adaptive_avg_pool{dims}d.default", {"self": x, "output_size": sizes}
    if mode not in _RESAMPLED:
        return None
    name = _RESAMPLED[mode].format(dims)
    if given["antialias"]:
        name = f"_{name}_aa"
    found = {"input": x, "output_size": sizes, "scale_factors": factors}
    if not mode.startswith("nearest"):
        found["align_corners"] = bool(given["align_corners"])
    return f"{name}.vec", found


def _grid_sample(given: Bound) -> Spelling:
    modes = grid_sampler(given["mode"], given["padding_mode"])
    if modes is None:
        return None
    return "grid_sampler.default", {
        "input": given["input"],
        "grid": given["grid"],
        "interpolation_mode": modes[0],
        "padding_mode": modes[1],
        "align_corners": bool(given["align_corners"]),
    }


def _cdist(given: Bound) -> Spelling:
    mode = _CDIST_MODES.index(given["compute_mode"]) if given["compute_mode"] in _CDIST_MODES else 0
    return "cdist.default", {
        "x1": given["x1"],
        "x2": given["x2"],
        "p": float(given["p"]),
        "compute_mode": mode or None,
    }


def _scatter(given: Bound) -> Spelling:
    source, value = given["src"], given["value"]
    number = value if value is not None else source if not isinstance(source, torch.Tensor) else None
    found = {"self": given["input"], "dim": given["dim"], "index": given["index"]}
    found |= {"src": source} if number is None else {"value": number}
    kind = "src" if number is None else "value"
    if given["reduce"] is not None:
        found["reduce"], kind = given["reduce"], "reduce" if number is None else "value_reduce"
    return f"scatter.{kind}", found


def _split(given: Bound) -> Spelling:
    sizes = next(value for name, value in given.items() if name not in ("input", "dim"))
    if not isinstance(sizes, (list, tuple)):
        return None
    found = {"self": given["input"], "split_sizes": list(sizes), "dim": given["dim"]}
    return "split_with_sizes.default", found


def _tensordot(given: Bound) -> Spelling:
    a, b, dims = given["a"], given["b"], given["dims"]
    if isinstance(dims, torch.Tensor):
        return None
    if isinstance(dims, int):
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        left, right = (list(part) if isinstance(part, (list, tuple)) else [part] for part in dims)
    return "tensordot.default", {"self": a, "other": b, "dims_self": left, "dims_other": right}


def _norm(given: Bound) -> Spelling:
    order, dim = given["p"], given["dim"]
    dims = dim if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if isinstance(order, str) and order != "fro":
        return "linalg_matrix_norm.str_ord", {
            "self": given["input"],
            "ord": order,
            "dim": [-2, -1] if dims is None else dims,
            "keepdim": given["keepdim"],
            "dtype": given["dtype"],
        }
    return "linalg_vector_norm.default", {
        "self": given["input"],
        "ord": 2.0 if order in ("fro", None) else order,
        "dim": dims,
        "keepdim": given["keepdim"],
        "dtype": given["dtype"],
    }


def _max_pool(dims: int, given: Bound) -> Spelling:
    names = ("kernel_size", "stride", "padding", "dilation")
    sizes = {name: [] if given[name] is None else _each(given[name], dims) for name in names}
    kind = "_with_indices" if given["return_indices"] else ""
    found = {"self": given["input"], **sizes, "ceil_mode": given["ceil_mode"]}
    return f"max_pool{dims}d{kind}.default", found


def _adaptive_max_pool(dims: int, given: Bound) -> Spelling:
    sizes = given["output_size"]
    whole = [
        n if size is None else size
        for n, size in zip(given["input"].shape[-dims:], _each(sizes, dims), strict=True)
    ]
    return f"adaptive_max_pool{dims}d.default", {"self": given["input"], "output_size": whole}


def _softmax(given: Bound) -> Spelling:
    return "softmax.int", {"self": given["input"], "dim": given["dim"], "dtype": None}


def _log_softmax(given: Bound) -> Spelling:
    return "log_softmax.int", {"self": given["input"], "dim": given["dim"], "dtype": None}


def _stft(given: Bound) -> Spelling:
    return "stft.center", {"self" if name == "input" else name: value for name, value in given.items()}


def _extreme(name: str, given: Bound) -> Spelling:
    """max and min of two tensors; None of one."""
    if not isinstance(given["dim"], torch.Tensor):
        return None
    return f"{name}.other", {"self": given["input"], "other": given["dim"]}


SPELLED: dict[str, Callable[[Bound], Spelling]] = {
    "interpolate": _interpolate,
    "grid_sample": _grid_sample,
    "cdist": _cdist,
    "max": partial(_extreme, "max"),
    "min": partial(_extreme, "min"),
    "scatter": _scatter,
    "split": _split,
    "tensordot": _tensordot,
    "logsigmoid": lambda bound: ("log_sigmoid.default", {"self": bound["input"]}),
    "norm": _norm,
    "stft": _stft,
    "_softmax": _softmax,
    "_log_softmax": _log_softmax,
    **{f"max_pool{dims}d_function": partial(_max_pool, dims) for dims in (1, 2, 3)},
    **{f"adaptive_max_pool{dims}d": partial(_adaptive_max_pool, dims) for dims in (1, 2, 3)},
}


def _resample(mode: str, antialias: bool, **given: Any) -> Any:
    """An upsample op: `given` are the arguments of either of its two overloads."""
    x = given.pop("input", None)
    x = given.pop("self") if x is None else x
    size, corners = given.pop("output_size"), given.pop("align_corners", None)
    listed = given.pop("scale_factors", None)
    scales = list(listed) if listed is not None else [given.get(f"scales_{d}") for d in "dhw"[5 - x.dim() :]]
    if x.dim() == 3 and "scales" in given:
        scales = [given["scales"]]
    if size is not None and any(s is not None for s in scales):
        return resized(x, size, scales, mode, bool(corners), antialias)
    return F.interpolate(x, size, tuple(scales) if size is None else None, mode, corners, antialias=antialias)


def _grid_sampler(**given: Any) -> Any:
    return F.grid_sample(
        given["input"],
        given["grid"],
        _GRID_MODES[given["interpolation_mode"]],
        _GRID_PADDINGS[given["padding_mode"]],
        given["align_corners"],
    )


def _distances(**given: Any) -> Any:
    return torch.cdist(given["x1"], given["x2"], given["p"], _CDIST_MODES[given["compute_mode"] or 0])


def _contracted(**given: Any) -> Any:
    return torch.tensordot(given["self"], given["other"], (given["dims_self"], given["dims_other"]))


def meaning(name: str) -> Callable[..., Any] | None:
    """What computes an op of SPELLED's answers, called by its own arguments' names; None for other ops."""
    if name.startswith(("upsample_", "_upsample_")):
        plain = name.removeprefix("_").removesuffix("_aa")
        mode = next(
            (
                mode
                for mode, form in _RESAMPLED.items()
                if any(form.format(dims).removeprefix("_") == plain for dims in (1, 2, 3))
            ),
            None,
        )
        return None if mode is None else partial(_resample, mode, name.endswith("_aa"))
    return _MEANINGS.get(name)


_MEANINGS: dict[str, Callable[..., Any]] = {
    "grid_sampler": _grid_sampler,
    "grid_sampler_2d": _grid_sampler,
    "grid_sampler_3d": _grid_sampler,
    "cdist": _distances,
    "_cdist_forward": _distances,
    "tensordot": _contracted,
}
