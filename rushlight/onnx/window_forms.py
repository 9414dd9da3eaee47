"""Windows, and writing into a part of a tensor: ONNX says them by the places that are read or written."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.onnx.builder import Ref
from rushlight.onnx.forms import Forms, form_of, known


def _windows(form: Forms, count: int, size: int, step: int, spread: int = 1) -> Ref:
    """For each of `count` windows the places that it reads, as a matrix."""
    return form.onnx.constant(np.arange(count)[:, None] * step + np.arange(size) * spread)


@form_of("unfold")
def unfold(form: Forms, self: Ref, dimension: int, size: int, step: int) -> Ref:
    """Windows of one dim, which become the last dim."""
    sizes = list(self.shape)
    rank = len(sizes)
    dim = dimension % rank
    (whole,) = known([sizes[dim]])
    found = form.onnx.Gather(self, _windows(form, (whole - size) // step + 1, size, step), axis=dim)
    order = [d for d in range(rank + 1) if d != dim + 1]
    return form.onnx.Transpose(found, perm=[*order, dim + 1])


@form_of("im2col")
def im2col(form: Forms, self: Ref, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Ref:
    """Windows of images as columns."""
    several = [list(v) * 2 if len(v) == 1 else list(v) for v in (kernel_size, dilation, padding, stride)]
    batched = len(self.shape) == 4
    found = self if batched else form.onnx.Unsqueeze(self, [0])
    (tall, wide), channels = known(self.shape[-2:]), self.shape[-3]
    (k, d, p, s) = several
    found = form.onnx.Pad(found, form.onnx.shape([0, 0, *p] * 2))
    for axis, place, whole in ((2, 0, tall), (4, 1, wide)):
        count = (whole + 2 * p[place] - d[place] * (k[place] - 1) - 1) // s[place] + 1
        places = np.arange(k[place])[:, None] * d[place] + np.arange(count) * s[place]
        found = form.onnx.Gather(found, form.onnx.constant(places), axis=axis)
    found = form.onnx.Transpose(found, perm=[0, 1, 2, 4, 3, 5])
    sizes = [self.shape[0] if batched else 1, *known([channels * k[0] * k[1]]), -1]
    found = form.onnx.Reshape(found, form.onnx.shape(sizes))
    return found if batched else form.onnx.Squeeze(found, [0])


@form_of("col2im")
def col2im(
    form: Forms, self: Ref, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Ref:
    """Columns added up where they lie in images."""
    several = [list(v) * 2 if len(v) == 1 else list(v) for v in (kernel_size, dilation, padding, stride)]
    kernel, dilations, pads, strides = several
    batched = len(self.shape) == 3
    found = self if batched else form.onnx.Unsqueeze(self, [0])
    sizes = form.onnx.shape(list(output_size)), form.onnx.shape(kernel)
    found = form.onnx.Col2Im(found, *sizes, dilations=dilations, pads=pads * 2, strides=strides)
    return found if batched else form.onnx.Squeeze(found, [0])


@form_of("eye")
def eye(form: Forms) -> Ref:
    """Ones on the diagonal."""
    rows, columns = known(form.outs[0].shape)
    return form.as_out(form.onnx.constant(np.eye(rows, columns, dtype=np.float32)))


def _written(form: Forms, self: Ref, src: Ref, dim: int, places: Any) -> Ref:
    """The tensor with `src` at these places of a dim."""
    rank = len(self.shape)
    own = [1] * rank
    own[dim] = len(places)
    index = form.onnx.constant(np.asarray(places, np.int64).reshape(own))
    sizes = list(self.shape)
    sizes[dim] = len(places)
    index = form.onnx.Expand(index, form.onnx.shape(sizes))
    source = form.onnx.Expand(form.as_out(src), form.onnx.shape(sizes))
    return form.onnx.ScatterElements(self, index, source, axis=dim)


@form_of("slice_scatter")
def slice_scatter(form: Forms, self: Ref, src: Ref, dim: int, start: Any, end: Any, step: Any) -> Ref:
    """A tensor with a slice of it replaced."""
    dim %= len(self.shape)
    (whole,) = known([self.shape[dim]])
    return _written(form, self, src, dim, range(whole)[slice(start, end, step)])


@form_of("select_scatter")
def select_scatter(form: Forms, self: Ref, src: Ref, dim: int, index: Any) -> Ref:
    """A tensor with one place of a dim replaced."""
    dim %= len(self.shape)
    (whole,) = known([self.shape[dim]])
    return _written(form, self, form.onnx.Unsqueeze(src, [dim]), dim, [range(whole)[index]])


@form_of("copy")
def copy(form: Forms, self: Ref, src: Any) -> Ref:
    """A value in the tensor's dtype and of its sizes."""
    return form.onnx.Expand(form.as_out(src), form.out_shape())


@form_of("fill")
def fill(form: Forms, self: Ref, value: Any) -> Ref:
    """One number everywhere."""
    return form.onnx.Expand(form.as_out(value), form.out_shape())
