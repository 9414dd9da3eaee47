"""Tensors and numbers whose methods a trace sees, and what it says of them."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.dispatch.method_overrides import unasked
from rushlight.jit.compiler.names import named_builtin
from rushlight.jit.compiler.values import Builtin
from rushlight.jit.frontend import NoForm
from rushlight.jit.program import schema as schemas
from rushlight.jit.program.ir import Value
from rushlight.jit.state import paused, tracing


class TracerWarning(Warning):
    """The trace may not hold for other inputs."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Say nothing of what the framework's own code does while it is traced."""
        warnings.filterwarnings("ignore", category=TracerWarning, module="(torch|rushlight).(?!jit)")


class TracingCheckError(Exception):
    """A function that is traced once more gives another program."""

    def __init__(
        self, graph_diff_error: str | None, tensor_compare_error: str | None, extra_msg: str | None = None
    ) -> None:
        self.message = "Tracing failed sanity checks!\n"
        if extra_msg is not None:
            self.message += extra_msg + "\n"
        if graph_diff_error is not None:
            text = textwrap.indent(graph_diff_error, "\t")
            self.message += f"ERROR: Graphs differed across invocations!\n{text}\n"
        if tensor_compare_error is not None:
            text = textwrap.indent(tensor_compare_error, "\t")
            self.message += (
                "ERROR: Tensor-valued Constant nodes differed in value across invocations. This often "
                f"indicates that the tracer has encountered untraceable code.\n{text}\n"
            )
        super().__init__(self.message)


_LOST = (
    "Converting a tensor to a Python {} might cause the trace to be incorrect. We can't record the data flow "
    "of Python values, so this value will be treated as a constant in the future. This means that the trace "
    "might not generalize to other inputs!"
)


def recorded_whole(kind: str, function: Callable[..., Any], *args: Any) -> Any:
    """What a function of ours that is no op of the table gives; in a trace it is one op."""
    tracer = tracing()
    if tracer is None:
        return function(*args)
    with paused():
        found = function(*map(_plain, args))
    return tracer.record(Builtin(kind), args, {}, found)


def called(func: Any, name: str) -> Any:
    """What a recorded function is in a program."""
    if isinstance(func, Builtin):
        return func
    found = named_builtin(func)
    short = name.removeprefix("_")
    # torch.svd takes other arguments than torch.linalg.svd, whose row is _svd.
    for plain in (name, f"linalg_{short}", short, short.removesuffix("_dim")):
        if found is None and schemas.named(f"aten::{plain}"):
            found = Builtin(f"aten::{plain}")
    if found is None:
        raise NoForm(f"torch.jit.trace: {name} has no form in TorchScript")
    return found


def replaced_write(func: Any, name: str, written: torch.Tensor, value: Value) -> Any:
    """What is recorded for an op that writes to a tensor, where writes are to be replaced: the op that does
    not. Warns where the tensor is a view.
    """
    name = func.kind.partition("::")[2] if isinstance(func, Builtin) else name
    plain = name.removesuffix("_")
    kind = f"aten::{plain}"
    known = hasattr(torch.Tensor, plain) or hasattr(torch.nn.functional, plain)
    if plain == name or name.startswith("__") or not schemas.named(kind) or not known:
        return func
    if _plain(written)._is_view() and (value.node is None or value.node.kind != "prim::Param"):
        warn(SHARED.format(name), TracerWarning)
    return Builtin(kind)


SHARED = (
    "There are 2 live references to the data region being modified when tracing in-place operator {}. This "
    "might cause the trace to be incorrect, because all other views that also reference this data will not "
    "reflect this change in the trace! On the other hand, if all other views use the same memory chunk, but "
    "are disjoint (e.g. are outputs of torch.split), this might still be safe."
)


def _leaving(method: str, what: str) -> Callable[..., Any]:
    """A method that hands a tensor's value to Python."""
    plain = unasked(getattr(torch.Tensor, method))

    def leave(self: Any, *args: Any) -> Any:
        if tracing():
            text = what if " " in what else _LOST.format(what)
            warn(text, TracerWarning)
        with paused():
            return plain(self, *args)

    return leave


_UNSEEN = (
    "{} can't be represented in the JIT at the moment, so we won't connect any uses of this value with its "
    "current trace. If you happen to use it again, it will show up as a constant in the graph. Consider "
    "using `view` or `reshape` to make it traceable."
)


def _untraced(plain: Callable[..., Any], self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the method does to plain tensors, while nothing is recorded."""
    with paused():
        return plain(_plain(self), *map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()})


def _unconnected(method: str) -> Callable[..., Any]:
    """A method after which a tensor is no value of the trace any more."""
    plain = unasked(getattr(torch.Tensor, method))

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        tracer = tracing()
        if tracer is not None:
            warn(_UNSEEN.format(method), TracerWarning)
            tracer.values.pop(id(self), None)
        _untraced(plain, self, args, kwargs)
        return self

    return run


def _recorded(method: str) -> Callable[..., Any]:
    """A method that is no op of the table, recorded by hand."""
    plain = unasked(getattr(torch.Tensor, method))

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = _untraced(plain, self, args, kwargs)
        tracer = tracing()
        if tracer is None:
            return self if method.endswith("_") else found
        found = self if method.endswith("_") else found
        return tracer.record(Builtin(f"aten::{method}"), (self, *args), kwargs, found)

    return run


def _converted(method: str) -> Callable[..., Any]:
    """A conversion, recorded also where the example is of that dtype and on that device already."""
    plain = unasked(getattr(torch.Tensor, method))

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = _untraced(plain, self, args, kwargs)
        tracer = tracing()
        if tracer is None or not isinstance(found, torch.Tensor):  # x.type() is a text
            return found
        other = next((x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)), None)
        if other is None and method == "to":
            where, dtype, _, _ = torch._C._parse_to(*args, **kwargs)
            given: tuple[Any, ...] = (
                (self, found.dtype) if where is None else (self, where, dtype or found.dtype)
            )
        else:
            given = (self, found.dtype) if other is None else (self, other)
        if found is _plain(self):
            with paused():
                found = found.view_as(found)
        kind = "aten::type_as" if method == "type_as" and other is not None else "aten::to"
        return tracer.record(Builtin(kind), given, {}, found)

    return run


def _sparsified(name: str) -> Callable[..., Any]:
    """A method that gives a sparse tensor: one op, whose parts the program asks for."""
    plain = unasked(getattr(torch.Tensor, name))

    def sparse(self: Any, *args: Any, **kwargs: Any) -> Any:
        tracer = tracing()
        if tracer is None:
            return plain(self, *args, **kwargs)
        with paused():
            found = plain(_plain(self), *args, **kwargs)
        return tracer.sparsified(name, (self, *args), kwargs, found)

    sparse.__name__, sparse.__doc__ = name, plain.__doc__
    return sparse


class TracedTensor(torch.Tensor):
    """A tensor whose methods outside of the table are seen by the trace."""

    of_rows = True  # as of the trace

    @property
    def shape(self) -> Any:
        """The size of each dim; numbers that remember the tensor."""
        return _sizes(self)

    def size(self, dim: Any = None) -> Any:
        """All sizes, or one."""
        return _sizes(self) if dim is None else _sizes(self)[dim]

    def numel(self) -> Any:
        """How many elements."""
        plain, tracer = unasked(torch.Tensor.numel)(self), tracing()
        return plain if tracer is None else tracer.number("aten::numel", plain, self)

    __bool__ = _leaving("__bool__", "boolean")
    __int__ = _leaving("__int__", "integer")
    __float__ = _leaving("__float__", "float")
    __index__ = _leaving("__index__", "index")
    item = _leaving("item", "number")
    tolist = _leaving("tolist", "list")
    numpy = _leaving("numpy", "NumPy array")
    __len__ = _leaving(
        "__len__",
        "Using len to get tensor shape might cause the trace to be incorrect. "
        "Recommended usage would be tensor.shape[0]. Passing a tensor of different shape "
        "might lead to errors or silently give incorrect results.",
    )
    detach, contiguous = _recorded("detach"), _recorded("contiguous")
    zero_, fill_, copy_ = _recorded("zero_"), _recorded("fill_"), _recorded("copy_")
    requires_grad_ = _recorded("requires_grad_")
    to_sparse, to_sparse_csr, to_sparse_csc, to_sparse_bsr, to_sparse_bsc = map(
        _sparsified, ("to_sparse", *(f"to_sparse_{layout}" for layout in ("csr", "csc", "bsr", "bsc")))
    )
    resize_, resize_as_ = _unconnected("resize_"), _unconnected("resize_as_")

    def detach_(self) -> Any:
        """Let go of the graph: from here on it is another value."""
        found, tracer = self.detach(), tracing()
        self._grad_node = None
        if tracer is not None:
            tracer.values[id(self)] = tracer.values[id(found)]
        return self

    def __getitem__(self, index: Any) -> Any:
        with paused():
            found = super().__getitem__(_plain(index))
        tracer = tracing()
        return found if tracer is None else tracer.results(found, tracer.item("__getitem__", self, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        with paused():
            super().__setitem__(_plain(index), _plain(value))
        if tracing() is not None:
            tracing().item("__setitem__", self, index, value)


for _method in "to type type_as cpu float double half int long short char byte bool bfloat16".split():
    setattr(TracedTensor, _method, _converted(_method))


def _sizes(x: Any) -> Any:
    plain = unasked(torch.Tensor.size)(x)
    tracer = tracing()
    return (
        plain
        if tracer is None
        else tuple(tracer.number("aten::size", int(n), x, i) for i, n in enumerate(plain))
    )


class TracedInt(int):
    """A size, and what is computed from sizes."""


def _arithmetic(name: str, kind: str, swap: bool = False) -> None:
    plain = getattr(int, name)

    def run(self: int, other: Any) -> Any:
        found = plain(self, other)
        tracer = tracing()
        if tracer is None or not isinstance(other, int) or found is NotImplemented:
            return found
        return tracer.number(kind, found, *((other, self) if swap else (self, other)))

    setattr(TracedInt, name, run)


for _op in ("add", "sub", "mul", "floordiv", "mod"):
    for _swap in (False, True):
        _arithmetic(f"__{'r' * _swap}{_op}__", f"aten::{'remainder' if _op == 'mod' else _op}", _swap)


def _plain(found: Any) -> Any:
    """An argument without what the trace adds to it."""
    if isinstance(found, TracedInt):
        return int(found)
    if isinstance(found, TracedTensor):
        plain: Any = found.__dict__.get("_plain")
        return found.as_subclass(torch.Tensor) if plain is None else plain
    if type(found) in (list, tuple):
        return type(found)(map(_plain, found))
    if type(found) is dict:
        return {k: _plain(v) for k, v in found.items()}
    return type(found)(*map(_plain, found)) if hasattr(found, "_fields") else found
