"""Forms of ops that are more than one node, or that depend on shapes; ops.py calls them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from rushlight._engine.core import dtype as dt
from rushlight.export.numbers.symbolic import SIZES
from rushlight.onnx.builder import Builder, Ref
from rushlight.onnx.errors import UnsupportedOperatorError


def known(sizes: Any) -> list[int]:
    """Sizes as numbers. UnsupportedOperatorError where one may change."""
    if any(isinstance(n, (*SIZES, Ref)) for n in sizes):
        raise UnsupportedOperatorError(
            f"sizes {list(sizes)} must not change here: export without dynamic dimensions"
        )
    return [int(n) for n in sizes]


class Forms:
    """What the forms of ops.py share, for a node whose results are `outs`."""

    def __init__(self, onnx: Builder, outs: list[Any]) -> None:
        self.onnx = onnx
        self.outs = outs
        self.given: dict[str, Any] = {}  # the op's arguments

    # --- values ----------------------------------------------------------------------------------

    def refuse(self) -> Any:
        """These arguments have no form."""
        raise UnsupportedOperatorError("these arguments of it have no form")

    def out_shape(self) -> Ref:
        """The result's sizes; one that is unknown is left to ONNX where one alone is."""
        return self.onnx.shape(self.outs[0].shape)

    def scalar(self, v: Any) -> Ref:
        """A whole number without dimensions."""
        if isinstance(v, (Ref, *SIZES)):
            return self.onnx.Squeeze(self.onnx.shape([v]))
        return self.onnx.constant(np.array(v, np.int64))

    def sum_of(self, a: Any, c: Any) -> Any:
        """Two sizes added."""
        if isinstance(a, int) and isinstance(c, int):
            return [a + c]
        return self.onnx.Add(self.onnx.shape([a]), self.onnx.shape([c]))

    def as_float(self, v: Any) -> Ref:
        """A number as float32."""
        return self.onnx.constant(np.array(v, np.float32))

    def as_true(self) -> Ref:
        """True."""
        return self.onnx.constant(np.array(True))

    def as_ints(self, v: Any) -> Ref:
        """Numbers in the result's dtype."""
        return self.onnx.constant(np.array(v, self.outs[0].dtype.np))

    def as_bool(self, v: Ref) -> Ref:
        """A value as bool."""
        return self.onnx.cast(v, dt.bool_)

    def as_int(self, v: Ref) -> Ref:
        """A value as int32."""
        return self.onnx.cast(v, dt.int32)

    def as_out(self, v: Any) -> Ref:
        """A value in the result's dtype."""
        v = v if isinstance(v, Ref) else self.onnx.value(v, self.outs[0].dtype)
        return self.onnx.cast(v, self.outs[0].dtype)

    def cast_as(self, v: Any, like: Ref) -> Ref:
        """A value in another's dtype."""
        return self.onnx.cast(v, like.dtype) if isinstance(v, Ref) else self.onnx.value(v, like.dtype)

    def same(self, values: Any) -> list[Ref]:
        """Values in the result's dtype; empty vectors, which cat() leaves out, are left out."""
        return [self.as_out(v) for v in values if v.shape != (0,) or self.outs[0].shape == (0,)]

    def filled(self, v: Any) -> Ref:
        """One number everywhere."""
        return self.onnx.Expand(
            self.onnx.constant(np.array(v, self.outs[0].dtype.np), dtype=self.outs[0].dtype), self.out_shape()
        )

    def ranged(self, start: Any, end: Any, step: Any) -> Ref:
        """Numbers in steps."""
        parts = [
            self.onnx.cast(
                self.scalar(v) if isinstance(v, (Ref, *SIZES, int)) else self.as_float(v), self.outs[0].dtype
            )
            for v in (start or 0, end, step or 1)
        ]
        return self.onnx.Range(*parts)

    def channels(self, v: Ref) -> list[Any]:
        """The sizes of a vector of one number per channel."""
        return [v.shape[1]]

    def ones_or(self, v: Any, sizes: Any) -> Ref:
        """A value, or ones."""
        return v if v is not None else self.onnx.constant(np.ones(known(sizes), self.outs[0].dtype.np))

    def zeros_or(self, v: Any, sizes: Any) -> Ref:
        """A value, or zeros."""
        return v if v is not None else self.onnx.constant(np.zeros(known(sizes), self.outs[0].dtype.np))

    def channelwise(self, weight: Ref, v: Ref) -> Ref:
        """A number per channel, laid along the second dimension."""
        if len(v.shape) < 3:
            return weight
        return self.onnx.Reshape(weight, [-1, *[1] * (len(v.shape) - 2)])

    def src_or(self, src: Any, value: Any, index: Ref) -> Ref:
        """What scatter() writes."""
        if src is not None and list(src.shape) != list(index.shape):  # of which the rest is not read
            ends, dims = known(index.shape), len(index.shape)
            starts = self.onnx.shape([0] * dims)
            src = self.onnx.Slice(src, starts, self.onnx.shape(ends), self.onnx.shape([*range(dims)]))
        if src is not None:
            return self.as_out(src)
        return self.onnx.Expand(self.as_out(value), self.onnx.Shape(index, to_dtype=dt.int64))

    # --- products, convolutions, normalization ---------------------------------------------------

    def gemm(self, input: Ref, weight: Ref, bias: Any) -> Ref:
        """A linear layer."""
        if len(input.shape) == 2 and len(weight.shape) == 2:
            return self.onnx.Gemm(input, weight, bias, transB=1)
        product = self.onnx.MatMul(input, self.onnx.Transpose(weight) if len(weight.shape) == 2 else weight)
        return product if bias is None else self.onnx.Add(product, bias)

    def conv(
        self, input: Ref, weight: Ref, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
    ) -> Ref:
        """A convolution; "same" pads more at the end where the number is odd."""
        dims = len(weight.shape) - 2
        stride, dilation = (list(v) * dims if len(v) == 1 else list(v) for v in (stride, dilation))
        pads = (
            {"auto_pad": {"same": "SAME_UPPER", "valid": "VALID"}[padding]}
            if isinstance(padding, str)
            else {"pads": (list(padding) * dims if len(padding) == 1 else list(padding)) * 2}
        )
        batched = len(input.shape) == len(weight.shape)
        found = self.onnx.Conv(
            input if batched else self.onnx.Unsqueeze(input, [0]),
            weight,
            bias,
            strides=stride,
            dilations=dilation,
            group=groups,
            **pads,
        )
        return found if batched else self.onnx.Squeeze(found, [0])

    def batch_norm(
        self,
        input: Ref,
        weight: Any,
        bias: Any,
        mean: Any,
        var: Any,
        training: bool,
        momentum: float,
        eps: float,
    ) -> Ref:
        """By running moments, or by the batch's own."""
        sizes = self.channels(input)
        if training or mean is None:
            axes = [d for d in range(len(input.shape)) if d != 1]
            center = self.onnx.ReduceMean(input, axes)
            apart = self.onnx.Sub(input, center)
            spread = self.onnx.Sqrt(
                self.onnx.Add(self.onnx.ReduceMean(self.onnx.Mul(apart, apart), axes), eps)
            )
            found = self.onnx.Div(apart, spread)
            return self._scaled(found, weight, bias, len(input.shape))
        return self.onnx.BatchNormalization(
            input, self.ones_or(weight, sizes), self.zeros_or(bias, sizes), mean, var, epsilon=eps
        )

    def _scaled(self, v: Ref, weight: Any, bias: Any, dims: int) -> Ref:
        along = [-1, *[1] * (dims - 2)]
        v = v if weight is None else self.onnx.Mul(v, self.onnx.Reshape(weight, along))
        return v if bias is None else self.onnx.Add(v, self.onnx.Reshape(bias, along))

    def group_norm(self, input: Ref, groups: int, weight: Any, bias: Any, eps: float) -> Ref:
        """As instances whose channels are the groups."""
        grouped = self.onnx.Reshape(input, [0, groups, -1])
        one = [groups]
        found = self.onnx.InstanceNormalization(
            grouped, self.ones_or(None, one), self.zeros_or(None, one), epsilon=eps
        )
        return self._scaled(self.onnx.Reshape(found, self.out_shape()), weight, bias, len(input.shape))

    def rms_norm(self, input: Ref, sizes: Any, weight: Any, eps: Any) -> Ref:
        """By the root of the mean square."""
        axes = list(range(-len(sizes), 0))
        eps = float(np.finfo(input.dtype.np).eps) if eps is None else eps
        square = self.onnx.ReduceMean(self.onnx.Mul(input, input), axes)
        found = self.onnx.Div(input, self.onnx.Sqrt(self.onnx.Add(square, eps)))
        return found if weight is None else self.onnx.Mul(found, weight)

    def attention(
        self, query: Ref, key: Ref, value: Ref, mask: Any, causal: bool, scale: Any, grouped: bool
    ) -> Ref:
        """Products, softmax and product."""
        if grouped:
            self.refuse()
        dims = len(query.shape)
        turned = self.onnx.Transpose(key, perm=[*range(dims - 2), dims - 1, dims - 2])
        by = float(scale) if scale is not None else known(query.shape[-1:])[0] ** -0.5
        scores = self.onnx.Mul(self.onnx.MatMul(query, turned), by)
        least = np.array(-np.inf, query.dtype.np)
        if causal:
            ones = self.onnx.Expand(self.as_true(), self.onnx.shape([query.shape[-2], key.shape[-2]]))
            low = self.onnx.cast(
                self.onnx.Trilu(self.onnx.cast(ones, dt.int32), self.scalar(0), upper=0), dt.bool_
            )
            scores = self.onnx.Where(low, scores, least, to_dtype=query.dtype)
        if mask is not None:
            scores = (
                self.onnx.Where(mask, scores, least, to_dtype=query.dtype)
                if mask.dtype is dt.bool_
                else self.onnx.Add(scores, mask)
            )
        return self.onnx.MatMul(self.onnx.Softmax(scores, axis=-1), value)

    def recurrent(
        self,
        op: str,
        input: Ref,
        hx: Any,
        params: Any,
        biased: bool,
        layers: int,
        both: bool,
        batch_first: bool,
        activations: Any = None,
    ) -> list[Ref]:
        """Layers of an LSTM, GRU or RNN: ONNX orders gates otherwise, and has time first."""
        b, ways = self.onnx, 1 + both
        order = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}[op]
        states = list(hx) if op == "LSTM" else [hx]
        if len(input.shape) != 3:
            self.refuse()
        x = b.Transpose(input, perm=[1, 0, 2]) if batch_first else input
        per, ends = 4 if biased else 2, []
        hidden = known(states[0].shape[-1:])[0]
        for layer in range(layers):
            own = [params[per * (ways * layer + w) :][:per] for w in range(ways)]
            w, r = (
                b.Concat(*[b.Unsqueeze(self._gates(p[i], order, hidden), [0]) for p in own], axis=0)
                for i in (0, 1)
            )
            bias = (
                b.Concat(
                    *[
                        b.Unsqueeze(
                            b.Concat(*[self._gates(p[i], order, hidden) for i in (2, 3)], axis=0), [0]
                        )
                        for p in own
                    ],
                    axis=0,
                )
                if biased
                else None
            )
            begin = [b.Slice(s, [ways * layer], [ways * (layer + 1)], [0]) for s in states]
            more = {"linear_before_reset": 1} if op == "GRU" else {}
            found = b.node_of_several(
                op,
                [x, w, r, bias, None, *begin],
                {
                    "hidden_size": hidden,
                    "direction": "bidirectional" if both else "forward",
                    "activations": activations and activations * ways,
                    **more,
                },
                1 + len(states),
            )
            ends.append(found[1:])
            x = b.Reshape(b.Transpose(found[0], perm=[0, 2, 1, 3]), [0, 0, -1])
        x = b.Transpose(x, perm=[1, 0, 2]) if batch_first else x
        return [x, *(b.Concat(*parts, axis=0) for parts in zip(*ends, strict=True))]

    def _gates(self, v: Ref, order: Any, hidden: int) -> Ref:
        if len(order) == 1:
            return v
        return self.onnx.Gather(v, np.concatenate([np.arange(hidden) + hidden * g for g in order]), axis=0)

    # --- windows ---------------------------------------------------------------------------------

    def adaptive(self, kind: str, v: Ref, output: Any) -> Ref:
        """Pools of a given size: of everything, or of equal windows."""
        dims = len(output)
        if all(n == 1 for n in output):
            return self.onnx.op(f"Global{kind}Pool")(v)
        sizes = known(v.shape[-dims:])
        output = [n if o is None else o for n, o in zip(sizes, output, strict=True)]
        if any(n % o for n, o in zip(sizes, output, strict=True)):
            raise UnsupportedOperatorError(f"windows of {sizes} for {output} are not of equal sizes")
        windows = [n // o for n, o in zip(sizes, output, strict=True)]
        return self.onnx.op(f"{kind}Pool")(v, kernel_shape=windows, strides=windows)

    def padded_by(self, v: Ref, sizes: Any, mode: str, value: Any) -> Ref:
        """PyTorch tells the last dimension first."""
        pairs = [(0, 0)] * (len(v.shape) - len(sizes) // 2) + [*zip(sizes[::2], sizes[1::2], strict=True)][
            ::-1
        ]
        how = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
        fill = [self.cast_as(value or 0, v)] if mode == "constant" else []
        return self.onnx.Pad(
            v, self.onnx.shape([p[0] for p in pairs] + [p[1] for p in pairs]), *fill, mode=how
        )

    # --- shapes and places -----------------------------------------------------------------------

    def swapped(self, v: Ref, a: int, c: int) -> list[int]:
        """The order of dimensions with two swapped."""
        order = list(range(len(v.shape)))
        order[a], order[c] = order[c], order[a]
        return order

    def padded(self, v: Ref, times: Any) -> Ref:
        """A value with dimensions of size 1 before its own."""
        missing = len(times) - len(v.shape)
        return self.onnx.Unsqueeze(v, list(range(missing))) if missing > 0 else v

    def pieces(self, v: Ref, dim: int) -> list[Ref]:
        """The results' parts of a value."""
        if len(self.outs) == 1:
            return [self.onnx.Identity(v)]
        if len(self.outs[0].shape) < len(v.shape):
            sizes: list[Any] = [1] * len(self.outs)
        else:
            sizes = [o.shape[dim] for o in self.outs]
        return self.onnx.node_of_several("Split", (v, sizes), {"axis": dim}, len(self.outs))

    def index(self, v: Ref, indices: Any) -> Ref:
        """Read at one tensor's places along a dimension, or at several tensors' along the first ones."""
        at = [d for d, i in enumerate(indices) if i is not None]
        if any(i.dtype is dt.bool_ for i in indices if i is not None):
            self.refuse()
        if len(at) == 1:
            return self.onnx.Gather(v, indices[at[0]], axis=at[0])
        if at != list(range(len(at))):
            self.refuse()
        size = self.onnx.shape(np.broadcast_shapes(*[tuple(known(i.shape)) for i in indices]))
        parts = [
            self.onnx.Unsqueeze(self.onnx.Expand(self.onnx.cast(i, dt.int64), size), [-1]) for i in indices
        ]
        return self.onnx.GatherND(v, self.onnx.Concat(*parts, axis=-1), to_dtype=v.dtype)

    def rolled(self, v: Ref, shifts: Any, dims: Any) -> Ref:
        """Elements moved along dimensions, those at the end to the beginning."""
        flat = v if dims else self.onnx.Reshape(v, [-1])
        for shift, dim in zip(shifts, dims or [0], strict=True):
            size = known([v.shape[dim]])[0] if dims else int(np.prod(known(v.shape)))
            at = size - shift % size if size else 0
            flat = self.onnx.Concat(
                self.onnx.Slice(flat, [at], [size], [dim]), self.onnx.Slice(flat, [0], [at], [dim]), axis=dim
            )
        return flat if dims else self.onnx.Reshape(flat, self.out_shape())

    def loss(self, op: str, v: Ref, target: Ref, weight: Any, reduction: int, ignored: int) -> Ref:
        """A loss of classes."""
        if target.dtype.is_floating_point:
            self.refuse()
        how = ("none", "mean", "sum")[reduction]
        return self.onnx.op(op)(v, target, weight, reduction=how, ignore_index=ignored)

    # --- reductions ------------------------------------------------------------------------------

    def axes(self, dim: Any) -> Any:
        """The dimensions of a reduction; None for all."""
        return None if dim is None or dim == [] else [dim] if isinstance(dim, int) else list(dim)

    def arg(self, op: str, v: Ref, dim: Any, keepdim: bool) -> Ref:
        """Where the greatest or least is; of all elements where no dimension is given."""
        if dim is None:
            v = self.onnx.Reshape(v, [-1])
        return self.onnx.op(op)(v, axis=dim or 0, keepdims=int(keepdim), to_dtype=dt.int64)

    def extreme(self, op: str, v: Ref, dim: Any, keepdim: bool, other: Any) -> Any:
        """max and min: of two tensors, of all elements, or of a dimension with its places."""
        if other is not None:
            return self.onnx.op(op)(v, other)
        found = getattr(self.onnx, f"Reduce{op}")(v, self.axes(dim), keepdims=int(keepdim))
        return found if dim is None else [found, self.arg(f"Arg{op}", v, dim, keepdim)]

    def variance(self, v: Ref, dim: Any, keepdim: bool, correction: Any, unbiased: Any) -> Ref:
        """The mean square of what is apart from the mean, of all but `correction` many.

        A bool as `dim` is `unbiased`, of all elements.
        """
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        less = correction if correction is not None else 0 if unbiased is False else 1
        axes = self.axes(dim) or list(range(len(v.shape)))
        count = int(np.prod(known([v.shape[d] for d in axes])))
        apart = self.onnx.Sub(v, self.onnx.ReduceMean(v, axes))
        mean = self.onnx.ReduceMean(self.onnx.Mul(apart, apart), axes, keepdims=int(keepdim))
        if not less and count:
            return mean
        # of too few values there is none
        return self.onnx.Mul(mean, count / (count - less) if count > less else float("nan"))

    def norm(self, v: Ref, p: Any, ord: Any, dim: Any, keepdim: bool) -> Ref:
        """Vector norms of the orders that ONNX has."""
        order = ord if ord is not None else 2 if p in (None, "fro") else p
        if order not in (1, 2, float("inf")):
            self.refuse()
        op = {1: "ReduceL1", 2: "ReduceL2"}.get(order, "ReduceMax")
        v = self.onnx.Abs(v) if op == "ReduceMax" else v
        return self.onnx.op(op)(v, self.axes(dim), keepdims=int(keepdim))

    def topk(self, v: Ref, k: Any, dim: Any, largest: bool) -> list[Ref]:
        """The greatest or least, and their places."""
        along = -1 if dim is None else dim
        attributes = {"axis": along, "largest": int(largest), "sorted": 1}
        found = self.onnx.node_of_several("TopK", (v, [k]), attributes, 2)
        found[1].dtype = dt.int64
        return found


# --- which op has which form --------------------------------------------------------------------

FORMS: dict[str, Callable[..., Any]] = {}


def form_of(*ops: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates the form of these ops."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops:
            if op in FORMS:
                raise ValueError(f"{op} has two forms: one of them must go")
            FORMS[op] = function
        return function

    return add


def written(op: str, form: Forms, arguments: dict[str, Any]) -> Any:
    """An op in ONNX's ops; arguments by name, of which a form takes those that it names."""
    function = FORMS[op]
    _, *names = inspect.signature(function).parameters
    form.given = arguments
    return function(form, **{name: arguments[name] for name in names})
