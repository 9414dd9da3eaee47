"""From a call of a row to the op of PyTorch's that a listener below autograd hears.

Most rows have PyTorch's name and signature (export/overloads.py pairs them). Here are the others: an op that
gives more than the row does (`_softmax`, `native_layer_norm`), which one of its results the row's is, and how
such an op is run. What is in neither place is heard as `torch.ops.rushlight.NAME`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import rushlight as torch
from rushlight._engine.ops.table import ROWS, Row
from rushlight._torch_dispatch import backward_ops
from rushlight.export import overloads

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


class AtenCall(NamedTuple):
    """An op with its arguments; `take`: which of its results is the row's, None for all of them."""

    op: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    take: int | None = None


def aten_call(row: Row, bound: dict[str, Any], writes: bool) -> AtenCall:
    """What PyTorch would call for a row's arguments."""
    renamed = _RENAMED.get(row.name + "_" * writes)
    if renamed is not None:
        found = renamed(**bound)
        if found is not None:
            name, args, kwargs, take = found
            return AtenCall(overloads.anyone(name), args, kwargs, take)
    if row.options.get("factory"):
        made = _factory(row, bound)
        if made is not None:
            return made
    chosen = _narrowest(row, bound, writes) or overloads.chosen(row, bound, writes)
    if chosen is None:
        own = overloads.own(row)
        return AtenCall(
            own, (), {p.name: bound[p.name] for p in row.params if bound[p.name] is not p.default}
        )
    op, args, kwargs = chosen
    return AtenCall(op, tuple(args), kwargs)


def _narrowest(row: Row, bound: dict[str, Any], writes: bool) -> Any:
    """The overload without further arguments, where none is given that it lacks."""
    name = overloads.aten_name(row) + "_" * writes
    op = overloads.overloads(name).get("default")
    if row.kind != "reduce" or op is None or len(op._schema.arguments) > 2:
        return None
    others = [p for p in row.params[1:] if bound[p.name] is not p.default and p.name != "dtype"]
    dtype = bound.get("dtype")
    return None if others else (op, [bound[row.params[0].name]], {} if dtype is None else {"dtype": dtype})


def is_op(row: Row) -> bool:
    """Whether PyTorch has an op of the row's name that is made of no others."""
    return row.name in _RENAMED or any(
        not op.is_composite for op in overloads.overloads(overloads.aten_name(row)).values()
    )


# Of a factory's arguments, those that say how the tensor is made: they decide no overload.
_FILLED = frozenset("dtype layout device pin_memory requires_grad memory_format generator names".split())


def _factory(row: Row, bound: dict[str, Any]) -> AtenCall | None:
    """A factory: PyTorch's has filled in where the tensor lies. The overload takes all that is given."""
    if row.name == "randint" and bound["size"] is None:  # randint(high, size)
        bound = {**bound, "low": None, "high": bound["low"], "size": bound["high"]}
    asked = {p.name for p in row.params if p.name not in _FILLED and bound.get(p.name) is not p.default}
    for op in overloads.overloads(overloads.aten_name(row)).values():
        names = [p.name for p in op._schema.arguments]
        matched = overloads.pairs(row, op._schema)
        if matched is None or "pin_memory" not in names or asked - matched.keys():
            continue
        given = {theirs: bound[ours] for ours, theirs in matched.items() if ours in bound}
        args, kwargs = [], {}
        for p in op._schema.arguments:
            value = given.get(p.name, p.default)
            if not p.kwarg_only:
                args.append(list(value) if isinstance(value, tuple) else value)
            elif (
                p.name in ("dtype", "layout", "memory_format", "generator") and given.get(p.name) is not None
            ):
                kwargs[p.name] = value
        if not all(
            overloads.fits(p.type, value, False) for p, value in zip(op._schema.arguments, args, strict=False)
        ):
            continue
        source = bound.get("input")
        where = bound.get("device") or (
            None if isinstance(source, torch.Tensor) else torch.get_default_device()
        )
        if where is not None:
            kwargs["device"] = torch.device(where)
        kwargs["pin_memory"] = bool(bound.get("pin_memory"))
        while args and len(args) > 1 and args[-1] == op._schema.arguments[len(args) - 1].default:
            args.pop()
        return AtenCall(op, tuple(args), kwargs)
    return None


# --- ops that give more than the row ----------------------------------------------------------------


def _softmax(name: str) -> Callable[..., Any]:
    def tell(input: Any, dim: Any, dtype: Any = None, **_: Any) -> Any:
        if dim is None:
            return None
        return f"{name}.default", (input if dtype is None else input.to(dtype), dim, False), {}, None

    return tell


def _layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, **_: Any
) -> Any:
    sizes = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    return "native_layer_norm.default", (input, sizes, weight, bias, eps), {}, 0


def _group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    n, c, inner = input.shape[0], input.shape[1], input.numel() // (input.shape[0] * input.shape[1] or 1)
    return "native_group_norm.default", (input, weight, bias, n, c, inner, num_groups, eps), {}, 0


def _batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    return (
        "native_batch_norm.default",
        (input, weight, bias, running_mean, running_var, training, momentum, eps),
        {},
        0,
    )


def _convolution(dims: int, transposed: bool = False) -> Callable[..., Any]:
    def tell(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        output_padding: Any = 0,
    ) -> Any:
        if isinstance(padding, str) or input.dim() != dims + 2:
            return None
        return (
            "convolution.default",
            (
                input,
                weight,
                bias,
                _each(stride, dims),
                _each(padding, dims),
                _each(dilation, dims),
                transposed,
                _each(output_padding, dims),
                groups,
            ),
            {},
            None,
        )

    return tell


def _resolved_convolution(
    input: Any, weight: Any, stride: Any, padding: Any, dilation: Any, groups: int, bias: Any = None
) -> Any:
    dims = input.dim() - 2
    places = [_each(value, dims) for value in (stride, padding, dilation)]
    return "convolution.default", (input, weight, bias, *places, False, [0] * dims, groups), {}, None


def _each(value: Any, count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value) * (count if len(value) == 1 else 1)


def _nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    if input.dim() > 2 or size_average is not None or reduce is not None:
        return None
    return "nll_loss_forward.default", (input, target, weight, _REDUCTIONS[reduction], ignore_index), {}, 0


def _std(name: str) -> Callable[..., Any]:
    def tell(
        input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, correction: Any = None
    ) -> Any:
        if isinstance(dim, bool):  # std(x, unbiased)
            dim, unbiased = None, dim
        if unbiased is not None and correction is None:
            correction = int(unbiased)
        dims = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
        given = (
            {}
            if correction is None and dims is None
            else {"correction": 1 if correction is None else correction}
        ) | ({"keepdim": True} if keepdim else {})
        return f"{name}.correction", (input, *([] if dims is None else [dims])), given, None

    return tell


def _squeeze(name: str) -> Callable[..., Any]:
    def tell(input: Any, dim: Any = None, **_: Any) -> Any:
        if dim is None:
            return f"{name}.default", (input,), {}, None
        dims = [dim] if isinstance(dim, int) else list(dim)
        if len(dims) == 1:  # a method's arguments come as a tuple
            return f"{name}.dim", (input, dims[0]), {}, None
        return f"{name}.dims", (input, dims), {}, None

    return tell


def _to_dtype(input: Any, dtype: Any, **_: Any) -> Any:
    return "_to_copy.default", (input,), {"dtype": dtype}, None


def _positions(input: Any = None, repeats: Any = None, output_size: int | None = None, **_: Any) -> Any:
    """repeat_interleave of numbers alone, which are `input` by the row's names."""
    alone = repeats if input is None else input
    if (input is None) == (repeats is None) or not isinstance(alone, torch.Tensor):
        return None
    given = {} if output_size is None else {"output_size": output_size}
    return "repeat_interleave.Tensor", (alone,), given, None


def _adaptive_max_pool(dims: int) -> Callable[..., Any]:
    def tell(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        sizes = [output_size] * dims if output_size is None or isinstance(output_size, int) else output_size
        whole = [n if m is None else m for n, m in zip(input.shape[-dims:], sizes, strict=True)]
        return f"adaptive_max_pool{dims}d.default", (input, whole), {}, None if return_indices else 0

    return tell


def _max_pool(dims: int) -> Callable[..., Any]:
    def tell(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        sizes = [[] if stride is None else _each(stride, dims), _each(padding, dims), _each(dilation, dims)]
        args: list[Any] = [input, _each(kernel_size, dims), *sizes, ceil_mode]
        for default in (False, [1] * dims, [0] * dims, []):
            if args[-1] != default:
                break
            args.pop()
        return f"max_pool{dims}d_with_indices.default", tuple(args), {}, None if return_indices else 0

    return tell


def _attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Any:
    # The gradient of a mask is none of the fused kernel's.
    plain = attn_mask is None or not (attn_mask.dtype is torch.bool or attn_mask.requires_grad)
    if query.dim() != 4 or dropout_p or enable_gqa or not plain:
        return None
    given = {"attn_mask": attn_mask, "scale": scale}
    return (
        "_scaled_dot_product_flash_attention_for_cpu.default",
        (query, key, value, *[0.0, True] * is_causal),
        {k: v for k, v in given.items() if v is not None},
        0,
    )


def _random_(input: Any, from_: Any, to: Any, generator: Any) -> Any:
    given = {} if generator is None else {"generator": generator}
    if to is not next(p.default for p in ROWS["random"].params if p.name == "to"):
        return "random_.from", (input, from_ or 0, to), given, None
    bounds = () if from_ is None else (from_,)
    return "random_.to" if bounds else "random_.default", (input, *bounds), given, None


_RENAMED: dict[str, Callable[..., Any]] = {
    "random_": _random_,
    "_cat": lambda tensors, dim=0: ("cat.default", (list(tensors), *[dim] * (dim != 0)), {}, None),
    "_true_divide": lambda input, other: ("div.Tensor", (input, other), {}, None),
    "_softmax": _softmax("_softmax"),
    "_log_softmax": _softmax("_log_softmax"),
    "_stack": lambda tensors, dim=0: ("stack.default", (list(tensors), *[dim] * (dim != 0)), {}, None),
    "_logsigmoid": lambda input: ("log_sigmoid_forward.default", (input,), {}, 0),
    "logsigmoid": lambda input: ("log_sigmoid_forward.default", (input,), {}, 0),
    "layer_norm": _layer_norm,
    "group_norm": _group_norm,
    "batch_norm": _batch_norm,
    "nll_loss": _nll_loss,
    "_to_dtype": _to_dtype,
    "_conj_view": lambda input: ("_conj.default", (input,), {}, None),
    "std": _std("std"),
    "var": _std("var"),
    "std_mean": _std("std_mean"),
    "var_mean": _std("var_mean"),
    "squeeze": _squeeze("squeeze"),
    "squeeze_": _squeeze("squeeze_"),
    "repeat_interleave": _positions,
    "_convolution": _resolved_convolution,
    "_biased_convolution": _resolved_convolution,
    **{f"conv{d}d": _convolution(d) for d in (1, 2, 3)},
    **{f"conv_transpose{d}d": _convolution(d, True) for d in (1, 2, 3)},
    **{f"adaptive_max_pool{d}d": _adaptive_max_pool(d) for d in (2, 3)},
    **{f"max_pool{d}d_function": _max_pool(d) for d in (2, 3)},
    **{f"_max_pool{d}d_plain": _max_pool(d) for d in (2, 3)},
    "scaled_dot_product_attention": _attention,
}


# --- how they are run -------------------------------------------------------------------------------


def _run_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    variance, mean = torch.var_mean(input.detach(), dims, correction=0, keepdim=True)
    return (
        torch.nn.functional.layer_norm(input, normalized_shape, weight, bias, eps),
        mean,
        torch.rsqrt(variance + eps),
    )


def _run_group_norm(
    input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    variance, mean = torch.var_mean(input.detach().reshape(N, group, -1), 2, correction=0)
    return torch.nn.functional.group_norm(input, group, weight, bias, eps), mean, torch.rsqrt(variance + eps)


def _run_batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    found = torch.nn.functional.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    if not training:
        return found, input.new_empty(0), input.new_empty(0)
    dims = [d for d in range(input.dim()) if d != 1]
    variance, mean = torch.var_mean(input.detach(), dims, correction=0)
    return found, mean, torch.rsqrt(variance + eps)


def _run_convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    dims = weight.dim() - 2
    if transposed:
        return getattr(torch, f"conv_transpose{dims}d")(
            input, weight, bias, tuple(stride), tuple(padding), tuple(output_padding), groups, tuple(dilation)
        )
    return getattr(torch, f"conv{dims}d")(
        input, weight, bias, tuple(stride), tuple(padding), tuple(dilation), groups
    )


def _run_nll_loss(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    name = {number: text for text, number in _REDUCTIONS.items()}[reduction]
    found = torch.nn.functional.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=name)
    kept = target != ignore_index
    total = kept.sum().to(self.dtype) if weight is None else weight[target[kept]].sum()
    return found, total if reduction == 1 or reduction == 2 else self.new_zeros(())


def _run_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    dtypes = {torch.float16: "half", torch.bfloat16: "bfloat16"}
    return torch.softmax(self, dim, dtype=_widened(self, dtypes) if half_to_float else None)


def _run_log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    dtypes = {torch.float16: "torch.half"}
    return torch.log_softmax(self, dim, dtype=_widened(self, dtypes) if half_to_float else None)


def _widened(self: Any, dtypes: dict[Any, str]) -> Any:
    """The dtype of a softmax of two-byte numbers that gives four-byte ones, where there is one."""
    if self.device.type == "cpu":
        raise RuntimeError("softmax with half to float conversion is not supported on CPU")
    if self.dtype not in dtypes:
        expected = " or ".join(dtypes.values())
        raise AssertionError(f"half_to_float is True but x.dtype is {self.dtype}, expected {expected}")
    return torch.float32


def _run_local_scalar(self: Any) -> Any:
    """The first of the numbers."""
    if not self.numel():
        raise RuntimeError("_local_scalar_dense: Empty tensor not supported")
    return (self if self.numel() == 1 else self.flatten()[0]).item()


def _run_to_copy(
    self: Any, dtype: Any = None, layout: Any = None, device: Any = None, memory_format: Any = None, **_: Any
) -> Any:
    found = self.to(device=device, dtype=dtype, copy=True)
    return found if memory_format is None else found.contiguous(memory_format=memory_format)


def _run_sdpa(
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: Any = None,
) -> Any:
    found = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale
    )
    scores = query.detach() @ key.detach().mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    return found, torch.logsumexp(scores if attn_mask is None else scores + attn_mask, -1)


def _run_adaptive_max_pool(self: Any, output_size: Any) -> Any:
    return getattr(torch.nn.functional, f"adaptive_max_pool{len(output_size)}d")(self, output_size, True)


def _run_dropout(input: Any, p: float, train: Any) -> Any:
    if train is False or p == 0:
        return input.clone(), torch.ones_like(input, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(input), torch.zeros_like(input, dtype=torch.bool)
    mask = torch.empty_like(input, dtype=torch.bool).bernoulli_(1 - p)
    return input * mask * (1 / (1 - p)), mask


def _run_trained_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float, eps: float
) -> Any:
    return _run_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)


def _run_functional_batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    statistics = running_mean.clone(), running_var.clone()
    found = _run_batch_norm(input, weight, bias, *statistics, training, momentum, eps)
    return (*found, *statistics)


def _run_elu(self: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    """elu of input_scale times the negative numbers, all of it scaled: selu and celu are such."""
    if scale == 1 and input_scale == 1:
        return torch.nn.functional.elu(self, alpha)
    return torch.where(self > 0, self * scale, torch.expm1(self * input_scale) * (alpha * scale))


def _run_to(self: Any, other: Any = None, layout: Any = None, pin_memory: Any = None, **given: Any) -> Any:
    given = {name: value for name, value in given.items() if value is not None}
    return self.to(**given) if other is None else self.to(other, **given)


def _run_log_sigmoid(self: Any) -> Any:
    return torch.nn.functional.logsigmoid(self), torch.exp(-self.detach().abs())


def _drawn(name: str) -> Callable[..., Any]:
    """A tensor like the given one, filled by the method that draws its numbers."""
    return lambda self, **given: getattr(torch.empty_like(self), name)(**_passed(given))


def _passed(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != "generator" or value is not None}


RUN: dict[str, Callable[..., Any]] = {
    **backward_ops.RUN,
    **{
        name: _drawn(f"{name}_")
        for name in ("cauchy", "exponential", "geometric", "log_normal", "random", "uniform")
    },
    "normal_functional": _drawn("normal_"),
    "zero": lambda self: torch.zeros_like(self),
    "log_sigmoid_forward": _run_log_sigmoid,
    "_adaptive_avg_pool2d": lambda self, output_size: torch.nn.functional.adaptive_avg_pool2d(
        self, output_size
    ),
    "to": _run_to,
    "elu": _run_elu,
    "elu_": lambda self, **given: self.copy_(_run_elu(self, **given)),
    "_convolution": lambda benchmark, deterministic, cudnn_enabled, allow_tf32=True, **given: (
        _run_convolution(**given)
    ),
    "native_dropout": _run_dropout,
    "_native_batch_norm_legit_no_training": _run_trained_batch_norm,
    "_native_batch_norm_legit_functional": _run_functional_batch_norm,
    **{f"adaptive_max_pool{d}d": _run_adaptive_max_pool for d in (1, 2, 3)},
    "_softmax": _run_softmax,
    "_log_softmax": _run_log_softmax,
    "native_layer_norm": _run_layer_norm,
    "native_group_norm": _run_group_norm,
    "native_batch_norm": _run_batch_norm,
    "convolution": _run_convolution,
    "nll_loss_forward": _run_nll_loss,
    "_to_copy": _run_to_copy,
    "_scaled_dot_product_flash_attention_for_cpu": _run_sdpa,
    "_unsafe_view": lambda self, size: self.view(size),
    "_local_scalar_dense": _run_local_scalar,
    "_conj": lambda self: self.conj(),
    "lift_fresh": lambda self: self,
    "lift": lambda self: self,
    "alias": lambda self: self.view(self.shape),
    "detach": lambda self: self.detach(),
    "threshold_backward": lambda grad_output, self, threshold: grad_output.masked_fill(self <= threshold, 0),
    "sigmoid_backward": lambda grad_output, output: grad_output * (output * (1 - output)).conj(),
    "tanh_backward": lambda grad_output, output: grad_output * (1 - output * output).conj(),
    "_softmax_backward_data": lambda grad_output, output, dim, input_dtype: (
        output * (grad_output - (grad_output * output).sum(dim, keepdim=True))
    ),
    "_log_softmax_backward_data": lambda grad_output, output, dim, input_dtype: (
        grad_output - output.exp() * grad_output.sum(dim, keepdim=True)
    ),
    "slice_backward": lambda grad_output, input_sizes, dim, start, end, step: torch.slice_scatter(
        grad_output.new_zeros(input_sizes), grad_output, dim, start, end, step
    ),
    "select_backward": lambda grad_output, input_sizes, dim, index: torch.select_scatter(
        grad_output.new_zeros(input_sizes), grad_output, dim, index
    ),
}
