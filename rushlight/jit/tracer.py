"""torch.jit.trace: a call is recorded, op by op, as a program.

Sizes of traced tensors are numbers that remember where they come from, so a view by x.size(0) holds for other
sizes. What leaves for Python (bool(x), x.item(), ...) is a constant of the program; PyTorch's TracerWarning
says so.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import flatten
from rushlight._engine.dispatch import interpreters
from rushlight._engine.ops.signature import REQUIRED, rename_keywords
from rushlight.export import overloads
from rushlight.jit.compiler.names import Names, named_builtin
from rushlight.jit.compiler.statements import Compiler
from rushlight.jit.compiler.values import Builtin, Items
from rushlight.jit.frontend import Source
from rushlight.jit.library import library
from rushlight.jit.program import schema as schemas
from rushlight.jit.program.ir import Example, Function, Value
from rushlight.jit.program.types import INT, TENSOR, Type
from rushlight.jit.state import paused, tracing
from rushlight.overrides import TorchFunctionMode


class TracerWarning(Warning):
    """The trace may not hold for other inputs."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Say nothing of what the framework's own code does while it is traced."""
        warnings.filterwarnings("ignore", category=TracerWarning, module="(torch|rushlight).(?!jit)")


class TracingCheckError(Exception):
    """The traced program differs from the Python that it was recorded from."""


_LOST = (
    "Converting a tensor to a Python {} might cause the trace to be incorrect. We can't record the "
    "data flow of "
    "Python values, so this value will be treated as a constant in the future. This means that the "
    "trace might not "
    "generalize to other inputs!"
)


def _leaving(method: str, what: str) -> Callable[..., Any]:
    """A method that hands a tensor's value to Python."""
    plain = getattr(torch.Tensor, method)

    def leave(self: Any, *args: Any) -> Any:
        if tracing():
            text = what if " " in what else _LOST.format(what)
            warn(text, TracerWarning)
        with paused():
            return plain(self, *args)

    return leave


def _recorded(method: str) -> Callable[..., Any]:
    """A method that is no op of the table, recorded by hand."""
    plain = getattr(torch.Tensor, method)

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        with paused():
            found = plain(self, *args, **kwargs)
        tracer = tracing()
        return found if tracer is None else tracer.record(Builtin(f"aten::{method}"), (self,), {}, found)

    return run


class TracedTensor(torch.Tensor):
    """A tensor whose methods outside of the table are seen by the trace."""

    @property
    def shape(self) -> Any:
        """The size of each dim; numbers that remember the tensor."""
        return _sizes(self)

    def size(self, dim: int | None = None) -> Any:
        """All sizes, or one."""
        return _sizes(self) if dim is None else _sizes(self)[dim]

    def numel(self) -> Any:
        """How many elements."""
        plain, tracer = torch.Tensor.numel(self), tracing()
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


def _sizes(x: Any) -> Any:
    plain = torch.Tensor.size(x)
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


_PACKAGE = str(Path(torch.__file__).parent)


class _Lines(Source):
    """The places of the Python lines that run."""

    def place(self, node: Any) -> str:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<")):
            frame = frame.f_back
        return f"{frame.f_code.co_filename}:{frame.f_lineno}:0"


class Tracer(TorchFunctionMode):
    """Records the ops that run into a function; `module`'s parameters and buffers are attributes of self."""

    def __init__(self, function: Function, module: Any) -> None:
        self.compiler = Compiler(function, Names(lambda name: None), _Lines(""))
        self.values: dict[int, Value] = {}
        self.alive: list[Any] = []
        self.places: dict[int, str] = {}
        self.scopes: list[str] = []  # what TracingState.push_scope says
        if module is not None:
            owner = function.owner
            self.self = function.block.param(Type("Class", cls=owner), "self")
            self.places = {
                id(t): name
                for name, t in (
                    *module.named_parameters(remove_duplicate=False),
                    *module.named_buffers(remove_duplicate=False),
                )
            }

    def know(self, found: Any, value: Value) -> Any:
        """Note which value of the program an object is; a tensor becomes a traced one."""
        plain = isinstance(found, torch.Tensor) and not isinstance(found, (TracedTensor, torch.nn.Parameter))
        if plain and id(found) not in self.places:
            traced = found.as_subclass(TracedTensor)
            traced._plain = found
            value.example = example(found)
            found = traced
        self.values[id(found)] = value
        self.alive.append(found)
        return found

    def state(self, found: torch.Tensor) -> Value:
        """A parameter of the program for a tensor that the module holds."""
        value = self.values[id(found)] = self.compiler.block.param(TENSOR)
        value.example = example(found)
        self.alive.append(found)
        return value

    def number(self, kind: str, found: int, *args: Any) -> TracedInt:
        """A traced number."""
        value = self.compiler.call_builtin(kind, [self.value(a) for a in args], {}, _AT)
        return self.know(TracedInt(found), value)

    def value(self, found: Any) -> Any:
        """The program's value for an argument."""
        known = self.values.get(id(found))
        if known is not None:
            return known
        if isinstance(found, torch.Tensor):
            return self.attribute(found)
        if isinstance(found, (list, tuple)) and any(
            isinstance(x, (torch.Tensor, TracedInt, list, tuple)) for x in found
        ):
            values = [self.value(x) for x in found]
            same = len({v.type for v in values}) == 1
            return (
                self.compiler.list_value(values, _AT, None)
                if same
                else self.compiler.value(Items(values), _AT)
            )
        if isinstance(found, (list, tuple)) and not found:
            return self.compiler.list_value([], _AT, INT)
        if isinstance(found, TracedInt):
            found = int(found)
        return self.compiler.constant(
            _AT, *self.compiler.names.plain(list(found) if isinstance(found, tuple) else found)
        )

    def attribute(self, found: Any) -> Value:
        """A parameter or buffer, by its way from self; any other tensor is a constant."""
        path = self.places.get(id(found))
        if path is None:
            self.alive.append(found)
            value = self.compiler.emit(_AT, "prim::Constant", (), TENSOR, value=found.detach()).output
        else:
            value = self.self
            for name in path.split("."):
                value = self.compiler.member(value, value.type.cls, name, _AT)
        value.example = example(found)
        self.values[id(found)] = value
        return value

    def run(self, row: Any, call: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """An op: recorded under PyTorch's own name for such a call, or in the ops that it consists of."""
        if tracing() is not self:
            return call(*args, **kwargs)
        writes = bool(getattr(call, "writes", False)) or kwargs.get("inplace") is True
        bound = _bound(row, args, kwargs)
        special = _special(row, bound)
        if special is not None:
            with paused():
                result = call(*map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()})
            spelled = special(row, bound, result)
            if spelled is not None:
                return self.record(Builtin(f"aten::{spelled[0]}"), spelled[1], {}, result)
        found = None if kwargs.get("out") is not None else overloads.chosen(row, bound, writes)
        if found is not None:
            overload, given, named = found
            if kwargs.get("generator") is not None:
                named["generator"] = None  # the program draws from the default generator
            with paused():
                result = call(*map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()})
            return self.record(Builtin(f"aten::{overload._schema.name}"), given, named, result)
        if row.kind == "composite" and kwargs.get("out") is None and not self.named(row):
            result = interpreters.within(self, call, args, kwargs)
            parts = [t for t in flatten(result)[0] if isinstance(t, torch.Tensor)]
            if all(id(t) in self.values for t in parts):
                return result
            raise RuntimeError(f"torch.jit.trace: {row.name} has no form in TorchScript")
        return self.as_written(row, call, args, kwargs)

    def named(self, row: Any) -> bool:
        """Whether TorchScript has the op or function under the row's name."""
        return row.name in library() or bool(schemas.named(f"aten::{row.name}"))

    def as_written(self, row: Any, call: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """An op for which PyTorch's own name is not known: the function that the program called."""
        given, kept = (
            list(args),
            {k: v for k, v in kwargs.items() if k in ("out", "generator") and v is not None},
        )
        for p in row.params[len(given) :]:
            value = kwargs.get(p.name, p.default)
            if p.keyword_only or p.varargs:
                kept |= {} if _same(value, p.default) else {p.name: value}
            else:
                given.append(value)
        for p in row.params[: len(given)][::-1]:
            if len(given) > len(row.params) or not _same(given[-1], p.default):
                break
            given.pop()
        return super().run(row, call, tuple(given), kept)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*map(_plain, args), **{k: _plain(v) for k, v in (kwargs or {}).items()})
        return self.record(func, args, kwargs or {}, found)

    def record(self, func: Any, args: Any, kwargs: dict[str, Any], found: Any) -> Any:
        """Note a call and its result; the result to go on with."""
        name = getattr(func, "__name__", "")
        if name == "_to_dtype":  # what x.to(dtype), x.float(), ... run
            func, args, kwargs = Builtin("aten::to"), [*args, *kwargs.values()][:2], {}
        if not isinstance(found, (torch.Tensor, list, tuple)) and found is not None:
            return found  # a number: a constant from here on
        values = [self.value(a) for a in args]
        named = {k: self.value(v) for k, v in kwargs.items()}
        value = self.compiler.call(_called(func, name), values, named, _AT)
        if isinstance(found, torch.Tensor) and isinstance(value, Value) and value.type.kind == "Tuple":
            value = self.compiler.parts(value, len(value.type.args), _AT)[0]  # the op's first result
        if "unique_consecutive" in (name, getattr(func, "kind", "")[6:]) and isinstance(
            found, tuple
        ):  # its op always has three results
            parts = self.compiler.parts(value, 3, _AT)
            asked = [True, *(v.node.attrs["value"] for v in values[1:3])]
            kept = [part for part, wanted in zip(parts, asked, strict=True) if wanted]
            return tuple(self.results(f, v) for f, v in zip(found, kept, strict=True))
        return self.results(found, value)

    def indexing(self, run: Any, base: Any, index: Any, *stored: Any) -> Any:
        """x[...] and x[...] = y of a tensor that is none of the trace's: a parameter, a buffer."""
        with paused():
            found = run(_plain(base), _plain(index), *map(_plain, stored))
        if tracing() is not self:
            return found
        value = self.item("__setitem__" if stored else "__getitem__", base, index, *stored)
        return None if stored else self.results(found, value)

    def item(self, name: str, base: Any, index: Any, *stored: Any) -> Value:
        """x[...] and x[...] = y."""
        env, compiler = dict[str, Any](), self.compiler
        parts = []
        for part in index if isinstance(index, tuple) else (index,):
            if isinstance(part, slice):
                bounds = (part.start, part.stop, part.step)
                parts.append(":".join(["" if p is None else self.spelled(p, env, True) for p in bounds]))
            else:
                parts.append(self.spelled(part, env))
        compiler.env = env
        tree: Any = ast.parse(
            f"x[{', '.join(parts)}{',' * (len(parts) == 1 and isinstance(index, tuple))}]", mode="eval"
        ).body
        if name == "__getitem__":
            return compiler.indexed(self.value(base), tree.slice, _AT)
        compiler.set_item(self.value(base), tree, self.value(stored[0]), _AT)
        return self.value(base)

    def spelled(self, part: Any, env: dict[str, Any], bound: bool = False) -> str:
        """A part of an index as text; what is traced gets a name in env. `bound`: of a slice."""
        if part is Ellipsis:
            return "..."
        if not isinstance(part, (torch.Tensor, TracedInt)):
            return repr(int(part) if bound else part)
        value = self.value(part)
        if bound and value.type == TENSOR:
            value = self.compiler.call_builtin("aten::Int", [value], {}, _AT)
        env[f"i{len(env)}"] = value
        return f"i{len(env) - 1}"

    def results(self, found: Any, value: Value) -> Any:
        """The results with their values."""
        if isinstance(found, torch.Tensor):
            return self.know(found, value)
        if isinstance(found, (list, tuple)):
            values = self.compiler.parts(value, len(found), _AT)
            parts = [self.results(f, v) for f, v in zip(found, values, strict=True)]
            return (
                type(found)(parts)
                if type(found) in (list, tuple)
                else type(found)(*parts)
                if hasattr(found, "_fields")
                else type(found)(parts)
            )
        return found


_AT: Any = ast.Constant(0, lineno=0, col_offset=0, end_lineno=0, end_col_offset=0)


# PyTorch does not record these by name, but the one op that all of them are: the dims that each slides over.
_CONVOLUTIONS = {f"conv{kind}{n}d": n for kind in ("", "_transpose") for n in (1, 2, 3)}


def _special(row: Any, bound: dict[str, Any]) -> Any:
    """What spells a call whose op has another shape, by its row, arguments and result; or None."""
    name = row.name
    if name in _CONVOLUTIONS and not isinstance(bound["padding"], str):
        return _convolution
    if name.startswith("fractional_max_pool") and bound["_random_samples"] is not None:
        return _fractional
    if name == "nonzero" and bound.get("as_tuple"):
        return _coordinates
    return _factored if name == "_lu_factor" else None


def _coordinates(row: Any, bound: dict[str, Any], result: Any) -> tuple[str, list[Any]]:
    return "nonzero_numpy", [bound["input"]]


def _factored(row: Any, bound: dict[str, Any], result: Any) -> tuple[str, list[Any]]:
    return "linalg_lu_factor_ex", [bound["A"]]


def _fractional(row: Any, bound: dict[str, Any], result: Any) -> tuple[str, list[Any]]:
    name = row.name.removesuffix("_with_indices")
    found = result if isinstance(result, torch.Tensor) else result[0]
    n = int(name[-2])
    kernel, size = bound["kernel_size"], list(torch.Tensor.size(found))[-n:]
    kernel = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel] * n
    return name, [bound["input"], kernel, size, bound["_random_samples"]]


def _convolution(row: Any, bound: dict[str, Any], result: Any) -> tuple[str, list[Any]] | None:
    n = _CONVOLUTIONS[row.name]
    if result.dim() != n + 2:
        return None
    turned = "transpose" in row.name

    def each(name: str, default: int = 0) -> list[int]:
        value = bound.get(name, default)
        whole = list(value) if isinstance(value, (list, tuple)) else [value]
        return whole * n if len(whole) == 1 else whole

    sizes = [each("stride"), each("padding"), each("dilation"), turned, each("output_padding")]
    switches = [False, False, True, True]  # benchmark, deterministic, cudnn_enabled, allow_tf32
    first = [bound["input"], bound["weight"], bound["bias"]]
    return "_convolution", [*first, *sizes, bound["groups"], *switches]


def example(found: torch.Tensor) -> Example:
    """What is told of a traced tensor."""
    sizes = tuple(int(n) for n in torch.Tensor.size(found))
    return Example(found.dtype, sizes, tuple(found.stride()), found.device, found.requires_grad)


def _plain(found: Any) -> Any:
    """An argument without what the trace adds to it."""
    if isinstance(found, TracedInt):
        return int(found)
    if isinstance(found, TracedTensor):
        plain = found.__dict__.get("_plain")
        return found.as_subclass(torch.Tensor) if plain is None else plain
    if type(found) in (list, tuple):
        return type(found)(map(_plain, found))
    return found


def _bound(row: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by the row's names, as they were given: numbers that are traced stay so."""
    names = {p.name for p in row.params}
    beside = {k: v for k, v in kwargs.items() if k in ("out", "inplace") and k not in names}
    kwargs = rename_keywords(row.params, row.name, {k: v for k, v in kwargs.items() if k not in beside})
    values, rest = dict[str, Any](), list(args)
    for p in row.params:
        if p.keyword_only or not rest:
            values[p.name] = kwargs.get(p.name, () if p.varargs and p.default is REQUIRED else p.default)
        elif p.varargs:
            whole = len(rest) == 1 and isinstance(rest[0], (list, tuple))
            values[p.name], rest = rest[0] if whole else tuple(rest), []
        else:
            values[p.name] = rest.pop(0)
    return values | {k: v for k, v in beside.items() if k == "inplace"}


def _same(value: Any, default: Any) -> bool:
    """Whether an argument is the default, which need not be said."""
    if value is default:
        return True
    return type(value) is type(default) and not isinstance(value, torch.Tensor) and bool(value == default)


def _called(func: Any, name: str) -> Any:
    """What a recorded function is in a program."""
    if isinstance(func, Builtin):
        return func
    found = named_builtin(func)
    for plain in (name, name.removeprefix("_"), name.removeprefix("_").removesuffix("_dim")):
        if found is None and schemas.named(f"aten::{plain}"):
            found = Builtin(f"aten::{plain}")
    if found is None:
        raise RuntimeError(f"torch.jit.trace: {name} has no form in TorchScript")
    return found
