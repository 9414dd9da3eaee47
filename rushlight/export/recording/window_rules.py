"""Sizes of what slides windows over a tensor, pads it or resamples it: rules as in shape_rules.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.export.numbers.expressions import Relation, applied, number, product
from rushlight.export.numbers.symbolic import expression
from rushlight.export.recording.asked import Shape, Sizes, UnknownSize, divided


def _each(value: Any, count: int) -> list[Any]:
    several = list(value) if isinstance(value, (tuple, list)) else [value]
    return several * count if len(several) == 1 else several


def _windows(
    sizes: Sizes, own: Shape, kernel: Any, stride: Any, padding: Any, dilation: Any, beyond: Any = 0
) -> Shape:
    found = []
    count = len(own)
    columns = [map(expression, _each(v, count)) for v in (kernel, stride, padding, dilation, beyond)]
    for n, k, s, p, d, more in zip(own, *columns, strict=True):
        reach = n + p + p - d * (k - number(1)) - number(1)
        sizes.holds(Relation(">=", reach, number(0)))
        found.append(applied("FloorDiv", reach + more, s) + number(1))
    return tuple(found)


def _conv(sizes: Sizes, args: dict[str, Any]) -> Shape:
    if args.get("transposed"):
        return _transposed(sizes, args)
    own, weight = sizes.of(args["input"]), sizes.of(args["weight"])
    count = len(weight) - 2
    kernel = [int(n.constant) for n in weight[2:]]
    sizes.same(own[-count - 1], weight[1] * number(args["groups"]))
    if args["padding"] == "same":
        return (*own[: -count - 1], weight[0], *own[-count:])
    padding = 0 if args["padding"] == "valid" else args["padding"]
    spatial = _windows(sizes, own[-count:], kernel, args["stride"], padding, args["dilation"])
    return (*own[: -count - 1], weight[0], *spatial)


def _transposed(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, weight = sizes.of(args["input"]), sizes.of(args["weight"])
    count = len(weight) - 2
    sizes.same(own[-count - 1], weight[0])
    spatial = []
    columns = [
        map(expression, _each(args[name], count))
        for name in ("stride", "padding", "output_padding", "dilation")
    ]
    for n, k, s, p, more, d in zip(own[-count:], weight[2:], *columns, strict=True):
        one = number(1)
        spatial.append((n - one) * s - p - p + d * (k - one) + more + one)
    return (*own[: -count - 1], weight[1] * number(args["groups"]), *spatial)


def _pool(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    kernel = args["kernel_size"]
    count = len(kernel)
    stride = args["stride"] or kernel
    padding, dilation = args["padding"], args.get("dilation", 1)
    beyond = [0] * count
    if args["ceil_mode"]:
        beyond = [s - 1 for s in _each(stride, count)]
        columns = (_each(v, count) for v in (kernel, stride, padding, dilation))
        if any(p + s - 2 >= d * (k - 1) for k, s, p, d in zip(*columns, strict=True)):
            raise UnknownSize  # the last window may lie outside
    spatial = _windows(sizes, own[-count:], kernel, stride, padding, dilation, beyond)
    return (*own[:-count], *spatial)


def _padded(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, given = list(sizes.of(args["self"])), [sizes.setting(n) for n in args["pad"]]
    for i, (before, after) in enumerate(zip(given[::2], given[1::2], strict=True)):
        own[-1 - i] = own[-1 - i] + before + after
    return tuple(own)


def _unfolded(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["self"])
    dim, size, step = args["dimension"] % len(own), sizes.number(args["size"]), sizes.number(args["step"])
    sizes.holds(Relation(">=", own[dim], size))
    return (*own[:dim], applied("FloorDiv", own[dim] - size, step) + number(1), *own[dim + 1 :], size)


def _columns(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, kernel = sizes.of(args["self"]), args["kernel_size"]
    spatial = _windows(sizes, own[-2:], kernel, args["stride"], args["padding"], args["dilation"])
    return (*own[:-3], own[-3] * product([number(k) for k in _each(kernel, 2)]), product(spatial))


def _shuffled(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, by = sizes.of(args["self"]), sizes.setting(args["upscale_factor"])
    whole = own[-3].constant
    if whole is None or by.constant is None:
        raise UnknownSize
    return (*own[:-3], number(whole // by.constant**2), own[-2] * by, own[-1] * by)


def _unshuffled(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, by = sizes.of(args["self"]), sizes.setting(args["downscale_factor"])
    rows, columns = (divided(sizes, n, by) for n in own[-2:])
    return (*own[:-3], own[-3] * by * by, rows, columns)


def _sampled(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, grid = sizes.of(args["input"]), sizes.of(args["grid"])
    return (sizes.same(own[0], grid[0]), own[1], *grid[1:-1])


def _adaptive(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own, given = sizes.of(args["self"]), [sizes.setting(n) for n in args["output_size"]]
    for n, wanted in zip(own[-len(given) :], given, strict=True):
        if n.constant is None and n.at(sizes.numbers.values) == wanted.constant:
            raise UnknownSize  # it may be the size itself, for None
    return (*own[: -len(given)], *given)


def _resampled(sizes: Sizes, args: dict[str, Any]) -> Shape:
    own = sizes.of(args["input"])
    if args["output_size"] is not None:
        return (*own[:2], *map(sizes.number, args["output_size"]))
    found = [
        n * number(int(by)) if by == int(by) else applied("TruncToInt", applied("ToFloat", n) * number(by))
        for n, by in zip(own[2:], args["scale_factors"], strict=True)
    ]
    return (*own[:2], *found)


_NAMES: dict[Callable[[Sizes, dict[str, Any]], Any], str] = {
    _conv: "conv1d conv2d conv3d convolution",
    _transposed: "conv_transpose1d conv_transpose2d conv_transpose3d",
    _pool: "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d max_pool2d_with_indices "
    "max_pool3d_with_indices",
    _adaptive: "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d "
    "adaptive_max_pool2d adaptive_max_pool3d",
    _padded: "pad constant_pad_nd",
    _unfolded: "unfold",
    _columns: "im2col",
    _shuffled: "pixel_shuffle",
    _unshuffled: "pixel_unshuffle",
    _sampled: "grid_sampler",
    _resampled: "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d "
    "_upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d "
    "upsample_bicubic2d upsample_trilinear3d _upsample_bilinear2d_aa _upsample_bicubic2d_aa",
}
RULES = {name: rule for rule, names in _NAMES.items() for name in names.split()}
