"""Gradients as PyTorch says them, in ops of its own, for listeners below autograd.

An op that a listener heard whole has a node whose gradient is one of PyTorch's backward ops
(`convolution_backward`, `native_layer_norm_backward`), which the listener hears in turn. Ops that are not
here have the gradients of their rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import rushlight as torch
from rushlight._engine.autograd.function import Function, FunctionMeta, run
from rushlight._engine.autograd.node import Node
from rushlight._engine.dispatch.interpreters import STACK
from rushlight._engine.dispatch.runners.array_bodies import tracked
from rushlight._torch_dispatch.backward_ops import INSIDE
from rushlight._torch_dispatch.translation import RUN

Gradients = dict[str, Any]
_ATEN: Any = torch.ops.aten
Handler = Callable[..., Any]


class Rule(NamedTuple):
    """grads(s, *gradients of the results) by the op's parameters; `keeps`: what it reads, a number for a
    result; `silent`: results that have no gradient; `several`: it is of others' gradients than the first
    result's, too.
    """

    grads: Callable[..., Gradients]
    keeps: tuple[str | int, ...]
    silent: tuple[int, ...]
    several: bool = False


class Saved:
    """What a rule reads: `s.NAME` is an argument of the op, or the shape of a tensor that is not kept."""

    def __init__(self, given: dict[str, Any], results: dict[int, tuple[Any, Any]], wanted: set[str]) -> None:
        self._given, self._results, self._wanted = given, results, wanted

    def __getattr__(self, name: str) -> Any:
        return self._given[name]

    def arguments(self) -> dict[str, Any]:
        """All arguments of the op by their names."""
        return self._given

    def tensors(self) -> dict[str, Any]:
        """Those that are tensors, and can have gradients."""
        given = {k: t for k, t in self._given.items() if isinstance(t, torch.Tensor)}
        return {k: t for k, t in given.items() if t.is_floating_point() or t.is_complex()}

    def needs(self, *names: str) -> list[bool]:
        """For each of these parameters: whether its gradient is wanted."""
        return [name in self._wanted for name in names]

    def result(self, number: int = 0) -> Any:
        """A result: a detached one, unless gradients of gradients are recorded."""
        kept, detached = self._results[number]
        return kept if torch.is_grad_enabled() and kept.requires_grad else detached.detach()


RULES: dict[str, Rule] = {}


def _rule(name: str, *keeps: str | int, silent: tuple[int, ...] = ()) -> Callable[..., Any]:
    def declare(grads: Callable[..., Gradients]) -> Callable[..., Gradients]:
        RULES[name] = Rule(grads, keeps, silent)
        return grads

    return declare


class _Call:
    """An op that is told, and which of its arguments are tensors."""

    def __init__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.op, self.args, self.kwargs = op, args, kwargs
        self.given: dict[str, Any] = op.bound(args, kwargs)
        self.tensors = [name for name, value in self.given.items() if isinstance(value, torch.Tensor)]


class _Whole(Function):
    """An op with the gradient of a rule."""

    @staticmethod
    def forward(ctx: Any, call: _Call, handler: Handler, *tensors: Any) -> Any:
        """What the listener makes of the op."""
        rule: Any = rule_of(call.op._schema) or by_running(call.op)
        given = call.given
        found = handler(call.op, call.args, call.kwargs)
        results = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        ctx.rule, ctx.tensors = rule, call.tensors
        ctx.given = {k: tuple(v.shape) if k in call.tensors else v for k, v in given.items()}
        ctx.names = [name for name in rule.keeps if name in call.tensors]
        ctx.kept = [n for n in rule.keeps if isinstance(n, int)]
        differentiable = [n for n in ctx.kept if n not in rule.silent]
        detach = _op("detach")
        ctx.detached = {n: handler(detach, (results[n],), {}) for n in differentiable}
        ctx.save_for_backward(*[given[name] for name in ctx.names], *[results[n] for n in ctx.kept])
        ctx.mark_non_differentiable(*[results[n] for n in rule.silent])
        ctx.set_materialize_grads(False)
        return results if isinstance(found, (tuple, list)) else found

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the tensors among the arguments."""
        if all([g is None for g in (grads if ctx.rule.several else grads[:1])]):
            return (None,) * (2 + len(ctx.tensors))
        saved = ctx.saved_tensors
        given = ctx.given | dict(zip(ctx.names, saved, strict=False))
        kept = dict(zip(ctx.kept, saved[len(ctx.names) :], strict=True))
        results = {n: (t, ctx.detached.get(n)) for n, t in kept.items()}
        wanted = {n for n, need in zip(ctx.tensors, ctx.needs_input_grad[2:], strict=True) if need}
        found = ctx.rule.grads(Saved(given, results, wanted), *grads)
        return None, None, *[found.get(name) if name in wanted else None for name in ctx.tensors]


@lru_cache(None)
def _function(name: str) -> Any:
    """The Function of an op, whose node is called as PyTorch's: ConvolutionBackward0."""
    words = "".join(word.capitalize() for word in name.split("_"))
    made = FunctionMeta(words, (_Whole,), {})
    for cls in (made._backward_cls, made._node_cls):
        cls.__name__ = f"{words}Backward0"
        setattr(cls, "__repr__", Node.__repr__)  # not as one of a program's Functions
    return made


def whole(handler: Handler, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The op by the handler, with the gradient of its rule."""
    call, function = _Call(op, args, kwargs), _function(op._schema.op_name)
    given = (call, handler, *[call.given[name] for name in call.tensors])
    return run(function, function._node_cls(given), given, {})


def has_rule(op: Any) -> bool:
    """Whether an op's gradient is written here."""
    return not INSIDE.depth and op.namespace == "aten" and rule_of(op._schema) is not None


def is_opened(op: Any, values: list[Any]) -> bool:
    """Whether who listens is told of what an op is made of, since its gradient is not written here."""
    modes = STACK.modes
    return bool(modes) and getattr(modes[-1], "_opens", False) and not has_rule(op) and tracked(values)


def rule_of(schema: Any) -> Rule | None:
    """The rule of PyTorch's op of a signature."""
    if schema.writes:
        return None
    return RULES.get(f"{schema.op_name}.{schema.overload}") or RULES.get(schema.op_name)


def is_run(op: Any) -> bool:
    """Whether an op of a backward pass that has no rule is run by a function of Python: on operands without
    memory nothing that they make on the way can be kept for its gradient.
    """
    name = op._schema.op_name
    return not INSIDE.depth and op.namespace == "aten" and name in RUN and "_backward" in name


@lru_cache(None)
def by_running(op: Any) -> Rule:
    """The rule of such an op: the gradient of its function, which runs once more."""

    def grads(s: Saved, *given: Any) -> Gradients:
        recorded = torch.is_grad_enabled()
        wanted = [name for name in s.tensors() if s.needs(name)[0]]
        own = {
            name: t.view_as(t) if recorded and t.requires_grad else t.detach().requires_grad_(name in wanted)
            for name, t in s.tensors().items()
        }
        with torch.enable_grad():
            found = RUN[op._schema.op_name](**(s.arguments() | own))
        results = zip(found if isinstance(found, (tuple, list)) else (found,), given, strict=True)
        of = [(r, g) for r, g in results if g is not None and r is not None and r.requires_grad]
        if not of:
            return {}
        made = torch.autograd.grad(
            [r for r, _ in of],
            [own[name] for name in wanted],
            [g for _, g in of],
            create_graph=recorded,
            allow_unused=True,
        )
        return dict(zip(wanted, made, strict=True))

    return Rule(grads, tuple(p.name for p in op._schema.arguments), (), True)


# --- rules --------------------------------------------------------------------------------------------


def _op(name: str) -> Any:
    return getattr(_ATEN, name).default


def _named(s: Saved, names: tuple[str, ...], found: Any) -> Gradients:
    return {name: g for name, g, need in zip(names, found, s.needs(*names), strict=True) if need}


@_rule("convolution", "input", "weight")
def _convolution(s: Saved, grad: Any) -> Gradients:
    names = ("input", "weight", "bias")
    sizes = [0] if s.bias is None else list(s.bias)
    places = (s.stride, s.padding, s.dilation, s.transposed, s.output_padding, s.groups)
    found = _op("convolution_backward")(grad, s.input, s.weight, sizes, *places, s.needs(*names))
    return _named(s, names, found)


@_rule("native_layer_norm", "input", "weight", "bias", 1, 2, silent=(1, 2))
def _layer_norm(s: Saved, grad: Any, *_: Any) -> Gradients:
    names = ("input", "weight", "bias")
    moments = (s._results[1][0], s._results[2][0])
    found = _op("native_layer_norm_backward")(
        grad, s.input, s.normalized_shape, *moments, s.weight, s.bias, s.needs(*names)
    )
    return _named(s, names, found)


@_rule("native_group_norm", "input", "weight", 1, 2, silent=(1, 2))
def _group_norm(s: Saved, grad: Any, *_: Any) -> Gradients:
    names = ("input", "weight", "bias")
    moments = (s._results[1][0], s._results[2][0])
    found = _op("native_group_norm_backward")(
        grad, s.input, *moments, s.weight, s.N, s.C, s.HxW, s.group, s.needs(*names)
    )
    return _named(s, names, found)


@_rule("native_batch_norm", "input", "weight", "running_mean", "running_var", 1, 2, silent=(1, 2))
def _batch_norm(s: Saved, grad: Any, *_: Any) -> Gradients:
    names = ("input", "weight", "bias")
    running = (s.running_mean, s.running_var, s._results[1][0], s._results[2][0])
    found = _op("native_batch_norm_backward")(
        grad, s.input, s.weight, *running, s.training, s.eps, s.needs(*names)
    )
    return _named(s, names, found)


@_rule("_softmax", 0, "self")
def _softmax(s: Saved, grad: Any) -> Gradients:
    return {"self": _op("_softmax_backward_data")(grad, s.result(), s.dim, s.self.dtype)}


@_rule("_log_softmax", 0, "self")
def _log_softmax(s: Saved, grad: Any) -> Gradients:
    return {"self": _op("_log_softmax_backward_data")(grad, s.result(), s.dim, s.self.dtype)}


@_rule("sigmoid", 0)
def _sigmoid(s: Saved, grad: Any) -> Gradients:
    return {"self": _op("sigmoid_backward")(grad, s.result())}


@_rule("tanh", 0)
def _tanh(s: Saved, grad: Any) -> Gradients:
    return {"self": _op("tanh_backward")(grad, s.result())}


@_rule("relu", 0)
def _relu(s: Saved, grad: Any) -> Gradients:
    return {"self": _op("threshold_backward")(grad, s.result(), 0)}


@_rule("gelu", "self")
def _gelu(s: Saved, grad: Any) -> Gradients:
    given = {} if s.approximate == "none" else {"approximate": s.approximate}
    return {"self": _op("gelu_backward")(grad, s.self, **given)}


@_rule("elu", "self")
def _elu(s: Saved, grad: Any) -> Gradients:
    return {"self": _op("elu_backward")(grad, s.alpha, s.scale, s.input_scale, False, s.self)}


@_rule("celu", "self")
def _celu(s: Saved, grad: Any) -> Gradients:
    return {"self": _op("elu_backward")(grad, s.alpha, 1, 1.0 / s.alpha, False, s.self)}


@_rule("leaky_relu", "self")
def _leaky_relu(s: Saved, grad: Any) -> Gradients:
    return {"self": _op("leaky_relu_backward")(grad, s.self, s.negative_slope, False)}


@_rule("log_sigmoid_forward", "self", 1, silent=(1,))
def _log_sigmoid(s: Saved, grad: Any, *_: Any) -> Gradients:
    return {"self": _op("log_sigmoid_backward")(grad, s.self, s._results[1][0])}


@_rule("max_pool2d_with_indices", "self", 1, silent=(1,))
def _max_pool(s: Saved, grad: Any, *_: Any) -> Gradients:
    sizes = (s.kernel_size, s.stride, s.padding, s.dilation, s.ceil_mode)
    return {"self": _op("max_pool2d_with_indices_backward")(grad, s.self, *sizes, s._results[1][0])}


@_rule("avg_pool2d", "self")
def _avg_pool(s: Saved, grad: Any) -> Gradients:
    sizes = (s.kernel_size, s.stride, s.padding, s.ceil_mode, s.count_include_pad, s.divisor_override)
    return {"self": _op("avg_pool2d_backward")(grad, s.self, *sizes)}


@_rule("nll_loss_forward", "self", "target", "weight", 1, silent=(1,))
def _nll_loss(s: Saved, grad: Any, *_: Any) -> Gradients:
    given = (s.target, s.weight, s.reduction, s.ignore_index)
    return {"self": _op("nll_loss_backward")(grad, s.self, *given, s._results[1][0])}


def _of_two(name: str, option: str | None) -> Callable[..., Gradients]:
    """A loss of two tensors that may change places."""

    def grads(s: Saved, grad: Any) -> Gradients:
        rest = [s.reduction] if option is None else [s.reduction, getattr(s, option)]
        pairs = {"self": (s.self, s.target), "target": (s.target, s.self)}
        return {
            who: _op(name)(grad, *pair, *rest)
            for (who, pair), need in zip(pairs.items(), s.needs(*pairs), strict=True)
            if need
        }

    return grads


@_rule("_scaled_dot_product_flash_attention_for_cpu", "query", "key", "value", "attn_mask", 0, 1, silent=(1,))
def _attention(s: Saved, grad: Any, *_: Any) -> Gradients:
    names = ("query", "key", "value")
    given: dict[str, Any] = {"attn_mask": s.attn_mask} | ({} if s.scale is None else {"scale": s.scale})
    found = _op("_scaled_dot_product_flash_attention_for_cpu_backward")(
        grad, s.query, s.key, s.value, s.result(), s._results[1][0], s.dropout_p, s.is_causal, **given
    )
    return _named(s, names, found)


def _scaled(t: Any, factor: Any) -> Any:
    return t if factor == 1 else _ATEN.mul.Scalar(t, factor.conjugate())


def _conj(t: Any) -> Any:
    """What a complex gradient is multiplied by: the derivative's conjugate."""
    return t.conj() if t.is_complex() else t


@_rule("addmm", "mat1", "mat2")
def _addmm(s: Saved, grad: Any) -> Gradients:
    found: Gradients = {}
    first, second, added = s.needs("mat1", "mat2", "self")
    if first:
        found["mat1"] = _scaled(_left(grad, s.mat1, s.mat2), s.alpha)
    if second:
        found["mat2"] = _scaled(_right(grad, s.mat1, s.mat2), s.alpha)
    if added:
        found["self"] = _scaled(grad, s.beta)
    return found


def _by_columns(t: Any) -> bool:
    return bool(t.stride(0) == 1 and t.stride(1) == t.shape[0])


def _left(grad: Any, a: Any, b: Any) -> Any:
    """The gradient of the first factor, in its order of memory."""
    b = _conj(b)
    return b.mm(grad.t()).t() if _by_columns(a) else grad.mm(b.t())


def _right(grad: Any, a: Any, b: Any) -> Any:
    a = _conj(a)
    return grad.t().mm(a).t() if _by_columns(b) else a.t().mm(grad)


@_rule("exp", 0)
def _exp(s: Saved, grad: Any) -> Gradients:
    return {"self": grad * _conj(s.result())}


@_rule("sqrt", 0)
def _sqrt(s: Saved, grad: Any) -> Gradients:
    return {"self": grad / _by_number(_conj(s.result()), 2)}


def _by_number(t: Any, number: Any) -> Any:
    return _ATEN.mul.Scalar(t, number)


def _reduced(s: Saved) -> list[int] | None:
    """The dims that are reduced; None: all of them, which no dim means, too."""
    dims = s._given.get("dim")
    return [dims] if isinstance(dims, int) else list(dims or ()) or None


def _spread(s: Saved, grad: Any) -> Any:
    """A gradient of what was reduced, with the dims that are gone."""
    dims = _reduced(s)
    if dims is None or s._given.get("keepdim") or not s.self.dim():
        return grad
    for d in sorted(d % s.self.dim() for d in dims):
        grad = grad.unsqueeze(d)
    return grad


@_rule("logsumexp", "self", 0)
def _logsumexp(s: Saved, grad: Any) -> Gradients:
    grad, result = _spread(s, grad), _spread(s, s.result())
    return {"self": grad * _conj((s.self - result).exp())}


def _count(s: Saved) -> int:
    """How many numbers became one."""
    dims, sizes = _reduced(s), s.self.shape
    if dims is None or not sizes:
        return int(s.self.numel())
    return math.prod(sizes[d] for d in dims)


@_rule("mean", "self")
def _mean(s: Saved, grad: Any) -> Gradients:
    return {"self": _ATEN.div.Scalar(_spread(s, grad).expand(s.self.shape), _count(s))}


def _variance(s: Saved, grad: Any) -> Any:
    correction = 1 if s.correction is None else s.correction
    dims, freedom = _reduced(s), _count(s) - correction
    distance = s.self - (s.self.mean() if dims is None else s.self.mean(dims, True))
    return _by_number(_spread(s, grad), 2.0 / freedom if freedom > 0 else math.inf) * distance


@_rule("var.correction", "self")
def _var(s: Saved, grad: Any) -> Gradients:
    return {"self": _variance(s, grad)}


@_rule("std.correction", "self", 0)
def _std(s: Saved, grad: Any) -> Gradients:
    result = s.result()
    part = (grad / _by_number(result, 2)).masked_fill_(result == 0, 0)
    return {"self": _variance(s, part)}


@_rule("max.dim", "self", 1, silent=(1,))
@_rule("min.dim", "self", 1, silent=(1,))
def _largest(s: Saved, grad: Any, *_: Any) -> Gradients:
    at = s._results[1][0]
    if not s.self.dim():
        return {"self": grad}
    if not s.keepdim:
        grad, at = grad.unsqueeze(s.dim), at.unsqueeze(s.dim)
    return {"self": _put(s, grad, at)}


@_rule("sort", "self", 1, silent=(1,))
@_rule("topk", "self", 1, silent=(1,))
def _ordered(s: Saved, grad: Any, *_: Any) -> Gradients:
    return {"self": _put(s, grad, s._results[1][0]) if s.self.dim() else grad}


def _put(s: Saved, grad: Any, at: Any) -> Any:
    return _ATEN.scatter.src(grad.new_zeros(s.self.shape), s.dim, at, grad)


def _of_self(name: str, *options: str) -> Callable[..., Gradients]:
    """A gradient that reads the input and options."""

    def grads(s: Saved, grad: Any) -> Gradients:
        return {"self": _op(name)(grad, s.self, *[getattr(s, option) for option in options])}

    return grads


for _name, _options in {
    "silu": (),
    "mish": (),
    "hardswish": (),
    "hardsigmoid": (),
    "hardtanh": ("min_val", "max_val"),
    "softplus": ("beta", "threshold"),
    "glu": ("dim",),
    "_adaptive_avg_pool2d": (),
}.items():
    RULES[_name] = Rule(_of_self(f"{_name}_backward", *_options), ("self",), ())

for _name, _option in {"mse_loss": None, "huber_loss": "delta", "smooth_l1_loss": "beta"}.items():
    RULES[_name] = Rule(_of_two(f"{_name}_backward", _option), ("self", "target"), ())


def _upsampled(name: str, *options: str) -> Callable[..., Gradients]:
    def grads(s: Saved, grad: Any) -> Gradients:
        scales = {k: v for k in ("scales_h", "scales_w") if (v := getattr(s, k)) is not None}
        middle = [getattr(s, option) for option in options]
        return {"self": _op(name)(grad, s.output_size, list(s.self), *middle, *scales.values())}

    return grads


RULES["upsample_nearest2d.default"] = Rule(_upsampled("upsample_nearest2d_backward"), (), ())
RULES["upsample_bilinear2d.default"] = Rule(
    _upsampled("upsample_bilinear2d_backward", "align_corners"), (), ()
)
