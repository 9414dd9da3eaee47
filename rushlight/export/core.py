"""Ops in the smaller ones that PyTorch makes them of, and programs' own ops, as nodes.

`run_decompositions` tells a composite op in what listeners below autograd hear of it (`native_layer_norm`,
`_softmax`), and then, by the default table, in PyTorch's core ops (CORE: `t` is a permutation, `silu` a
product).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import tree_map
from rushlight._engine.dispatch import interpreters
from rushlight._higher_order_ops.operators import recorder
from rushlight._subclasses.fake_tensor import FakeTensorMode, UnknownSizes
from rushlight._torch_dispatch.decompositions import instead
from rushlight._torch_dispatch.translation import aten_call, is_op
from rushlight.export import overloads, spellings
from rushlight.export.numbers.environment import ShapeEnv
from rushlight.export.numbers.symbolic import any_symbolic, plain
from rushlight.export.recording import real_tensors
from rushlight.library.below import CONTEXT

# Ops of their own that are computed by a row of another name.
_TOLD_WHOLE = frozenset(("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "alias"))


class Lowering:
    """The part of a Listener that tells programs' own ops, and composite ops in smaller ones."""

    def custom(self: Any, op: Any, run: Callable[..., Any], how: Any, args: Any, kwargs: Any) -> Any:
        """An op that a program defined: a node, unless it is made of other ops by PyTorch's own say."""
        own = op._opoverload
        if self.depth or (
            op._composite and self.decomposes and not (self.core and not self.opened(None, (own,)))
        ):
            return run(*how)
        if own in self.instead:
            return interpreters.within(self, self.instead[own], args, kwargs)
        given = own._schema.arguments
        plain_args, plain_kwargs = tuple(map(plain, args)), {k: plain(v) for k, v in kwargs.items()}
        compared = real_tensors.wanted() or self.failures is not None
        if self.symbolic and not self.frames and compared:
            result = self._held_to_its_word(op, run, plain_args, plain_kwargs)
        else:
            with self.paused():
                result = run(*op._bound(plain_args, plain_kwargs))
        positional = {p.name for p in given if not p.kwarg_only} & kwargs.keys()
        if positional:  # in the order of the signature
            names = [p.name for p in given if not p.kwarg_only]
            whole = dict(zip(names, args, strict=False)) | kwargs
            args = [whole.pop(name) for name in names if name in whole]
            kwargs = whole
        self.record(own, args, kwargs, result)
        return result

    def _held_to_its_word(self: Any, op: Any, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The result of a program's op, compared with what the op says of itself."""
        mode = FakeTensorMode(shape_env=self.numbers.env())
        sizes = {id(t): self.sizes(t) for t in real_tensors.tensors((args, kwargs))}

        def shown(value: Any) -> Any:
            return real_tensors.faked(mode, value, sizes[id(value)]) if id(value) in sizes else value

        def fake() -> tuple[Any, Any]:
            given = tree_map(shown, (args, kwargs))
            token = CONTEXT.set(UnknownSizes(op._opoverload, ShapeEnv()))
            try:
                with mode:
                    return given, op._kernels["Meta"](*given[0], **given[1])
            finally:
                CONTEXT.reset(token)

        with self.paused():
            named = dict(zip([p.name for p in op._opoverload._schema.arguments], args, strict=False)) | kwargs
            return real_tensors.checked(op, lambda: run(*op._bound(args, kwargs)), named, fake, self.failures)

    def opens(self: Any, row: Any, found: Any) -> bool:
        """Whether an op is told in others."""
        other = self.core or found is None
        composite = row.kind == "composite" or (other and instead(row.name) is not None)
        return composite and bool(self.opened(row, found))

    def op_called(self: Any, op: Any, args: Any, kwargs: Any) -> Any:
        """An op that is called by its name and that no row has for itself; NotImplemented for other ops."""
        own = op._schema
        if self.depth or op.is_composite or own.writes or op in self.instead:
            return NotImplemented
        if spellings.meaning(own.op_name) is None and own.op_name not in _TOLD_WHOLE:
            return NotImplemented
        return self.told(op, args, kwargs)

    def unknown(self: Any, since: int) -> bool:
        """Whether what has been recorded since is, in part, in ops that only we know."""
        return self.core and any(
            isinstance(n.target, overloads.Overload) and n.target.namespace == "rushlight"
            for n in self.order[since:]
        )

    def lowered(self: Any, row: Any, bound: dict[str, Any]) -> Any:
        """A composite op's result, told in smaller ones; NotImplemented where PyTorch has no other form."""
        function = instead(row.name)
        if function is not None:
            found = interpreters.within(self, function, (), bound)
            if found is not NotImplemented:
                return found
        if not self.core or not is_op(row):
            return NotImplemented
        op, args, kwargs, take = aten_call(row, bound, False)
        if op.namespace == "rushlight":
            return NotImplemented
        found = NotImplemented
        if op in self.instead:
            found = interpreters.within(self, self.instead[op], args, kwargs)
        if found is NotImplemented:
            found = self.told(op, args, kwargs)
        return found if take is None else found[take]

    def told(self: Any, op: Any, args: Any, kwargs: Any) -> Any:
        """The results of an op that is no row, which is recorded as one node."""
        with self.paused():
            found = op(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
        self.record(op, args, kwargs, found)
        return found

    def _assert_metadata(self: Any, t: Any) -> None:
        """What a conversion relies upon."""
        target = overloads.named("torch.ops.aten._assert_tensor_metadata.default")
        facts = {"dtype": t.dtype, "device": torch.device("cpu"), "layout": torch.strided}
        self.record(target, (t,), facts, None)

    def converted(self: Any, t: Any, whole: bool) -> Any:
        """A tensor converted to what it is; whole: with its device."""
        if self.depth or self not in interpreters.STACK.modes:
            return t
        if not self.decomposes:
            self._assert_metadata(t)
            facts = {"dtype": t.dtype, "layout": torch.strided, "device": t.device}
            if whole:
                self.record(overloads.anyone("to.dtype_layout"), (t,), facts, t)
            else:
                self.record(overloads.named("torch.ops.aten.to.dtype"), (t, t.dtype), {}, t)
        return t


# --- core ops -------------------------------------------------------------------------------------


def _t(self: Any) -> Any:
    return self.permute(tuple(range(self.dim()))[::-1])


def _transpose(self: Any, dim0: int, dim1: int) -> Any:
    if not self.dim():
        aten: Any = torch.ops.aten
        return aten.alias.default(self)
    order = list(range(self.dim()))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return self.permute(order)


def _silu(self: Any) -> Any:
    wide = self.float() if self.dtype in (torch.float16, torch.bfloat16) else self
    return (wide * torch.sigmoid(wide)).to(self.dtype)


def _log_sigmoid(self: Any) -> Any:
    wide = self.float() if self.dtype in (torch.float16, torch.bfloat16) else self
    zero = torch.full([], 0, dtype=wide.dtype, device=self.device)
    return (torch.minimum(zero, wide) - torch.log1p(torch.exp(-torch.abs(wide)))).to(self.dtype)


def _std(self: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    aten: Any = torch.ops.aten
    return torch.sqrt(aten.var.correction(self, dim, correction=correction, keepdim=keepdim))


def _split(self: Any, split_size: int, dim: int = 0) -> Any:
    if split_size == 0:
        return [self]
    aten: Any = torch.ops.aten
    symbolic = any_symbolic((split_size,))  # a number may be one of a size that the framework has read
    size = aten.sym_size.int(self, dim) if symbolic else self.shape[dim]
    whole = max(-(-plain(size) // plain(split_size)) - 1, 0)
    return torch.split(self, [split_size] * whole + [size - split_size * whole], dim)


def _stack(tensors: Any, dim: int = 0) -> Any:
    rank = tensors[0].dim()
    at = dim % (rank + 1)
    if at == 0 and rank:
        return torch.cat(list(tensors)).view(len(tensors), *tensors[0].shape)
    return torch.cat([t.unsqueeze(at) for t in tensors], at)


def _filled(value: int) -> Callable[..., Any]:
    def make(size: Any, *, dtype: Any = None, **options: Any) -> Any:
        of = dtype or torch.get_default_dtype()
        return torch.full(list(size), value, dtype=of, device=options.get("device"))

    return make


def _dropout(input: Any, p: float, train: bool) -> Any:
    if not train or p == 0:
        return input
    aten: Any = torch.ops.aten
    return recorder().told(aten.native_dropout.default, (input, p, train), {})[0]


def _batch_norm(
    input: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float
) -> Any:
    if training:
        return NotImplemented
    aten: Any = torch.ops.aten
    op = aten._native_batch_norm_legit_no_training.default
    return recorder().told(op, (input, weight, bias, mean, var, momentum, eps), {})


@cache
def core() -> dict[Any, Callable[..., Any]]:
    """Functions in the place of overloads that are none of PyTorch's core ops."""
    aten: Any = torch.ops.aten
    return {
        aten.t.default: _t,
        aten.transpose.int: _transpose,
        aten.silu.default: _silu,
        aten.log_sigmoid.default: _log_sigmoid,
        aten.std.correction: _std,
        aten.split.Tensor: _split,
        aten.stack.default: _stack,
        aten.ones.default: _filled(1),
        aten.zeros.default: _filled(0),
        aten.dropout.default: _dropout,
        aten.native_batch_norm.default: _batch_norm,
        aten.max.other: torch.maximum,
        aten.min.other: torch.minimum,
    }
