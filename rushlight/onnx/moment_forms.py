"""Variances and standard deviations, with their means or without: how ONNX says them."""

from __future__ import annotations

from typing import Any

from rushlight.onnx.builder import Ref
from rushlight.onnx.forms import Forms, form_of


@form_of("var")
def var(form: Forms, self: Ref, dim: Any, keepdim: bool, correction: Any, unbiased: Any) -> Ref:
    """The variance."""
    return form.variance(self, dim, keepdim, correction, unbiased)


@form_of("std")
def std(form: Forms, self: Ref, dim: Any, keepdim: bool, correction: Any, unbiased: Any) -> Ref:
    """The standard deviation."""
    return form.onnx.Sqrt(form.variance(self, dim, keepdim, correction, unbiased))


@form_of("var_mean")
def var_mean(form: Forms, self: Ref, dim: Any, keepdim: bool, correction: Any, unbiased: Any) -> list[Ref]:
    """The variance and the mean."""
    axes = [] if isinstance(dim, bool) else form.axes(dim)
    mean = form.onnx.ReduceMean(self, axes or list(range(len(self.shape))), keepdims=int(keepdim))
    return [form.variance(self, dim, keepdim, correction, unbiased), mean]


@form_of("std_mean")
def std_mean(form: Forms, self: Ref, dim: Any, keepdim: bool, correction: Any, unbiased: Any) -> list[Ref]:
    """The standard deviation and the mean."""
    variance, mean = var_mean(form, self, dim, keepdim, correction, unbiased)
    return [form.onnx.Sqrt(variance), mean]
