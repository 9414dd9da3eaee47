"""torch.jit.trace: a call is recorded, op by op, as a program.

Sizes of traced tensors are numbers that remember where they come from, so a view by x.size(0) holds for other
sizes. What leaves for Python (bool(x), x.item(), ...) is a constant of the program; PyTorch's TracerWarning
says so.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import rushlight as torch
from rushlight._engine.autograd.function import KeepsFunctions
from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import flatten
from rushlight._engine.dispatch import interpreters
from rushlight._engine.dispatch.method_overrides import unasked
from rushlight._engine.ops.signature import REQUIRED, rename_keywords
from rushlight._torch_dispatch import methods
from rushlight.export import overloads
from rushlight.jit.compiler.names import Names
from rushlight.jit.compiler.statements import Compiler
from rushlight.jit.compiler.values import Builtin, Items
from rushlight.jit.frontend import NoForm, Source
from rushlight.jit.library import library
from rushlight.jit.program import schema as schemas
from rushlight.jit.program.ir import Block, Example, Function, Value, read
from rushlight.jit.program.types import INT, NONE, TENSOR, Type
from rushlight.jit.state import OUT_OF_PLACE, paused, tracing
from rushlight.jit.tracing.indices import plain_numbers, without_dots
from rushlight.jit.tracing.naming import name_of
from rushlight.jit.tracing.traced import (
    SHARED,
    TracedInt,
    TracedTensor,
    TracerWarning,
    _plain,
    called,
    replaced_write,
)
from rushlight.overrides import TorchFunctionMode
from rushlight.sparse.tensor import PARTS, SparseTensor, make

_PACKAGE = str(Path(torch.__file__).parent)


class _Lines(Source):
    """The places of the Python lines that run."""

    def place(self, node: Any) -> str:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<")):
            frame = frame.f_back
        return f"{frame.f_code.co_filename}:{frame.f_lineno}:0"


_AT_LINES = _Lines("")


@dataclass
class Frame:
    """A module that runs: its way from self, the value that stands for it, and the block of what it does."""

    path: str
    owner: Value
    block: Block
    call: Any = None  # the node in the block around
    module: int = 0
    known: dict[int, Value] = field(default_factory=dict)  # its parameters and buffers

    def holds(self, path: str) -> bool:
        """Whether something is at or below it."""
        return not self.path or path == self.path or path.startswith(f"{self.path}.")


@dataclass
class Applied:
    """`of.apply` in a program: its tensors are the program's values, its other arguments constants."""

    of: type[torch.autograd.Function]
    args: tuple[Any, ...]  # None where a tensor stands
    tensors: list[int]  # where tensors stand
    kwargs: dict[str, Any]

    @property
    def __name__(self) -> str:
        """The Function's name."""
        return self.of.__name__

    @property
    def apply(self) -> Any:
        """The Function's own."""
        return self.of.apply

    @property
    def constants(self) -> list[Any]:
        """The arguments that are no tensors."""
        return [x for i, x in enumerate(self.args) if i not in self.tensors]

    def __call__(self, *tensors: torch.Tensor) -> Any:
        """What it gives for these tensors."""
        args = list(self.args)
        for place, tensor in zip(self.tensors, tensors, strict=True):
            args[place] = tensor
        return self.of.apply(*args, **self.kwargs)


class Tracer(KeepsFunctions, TorchFunctionMode):
    """Records the ops that run into a function; `module`'s parameters and buffers are attributes of self."""

    of_rows = True  # what is Python in PyTorch runs: its ops are heard

    def __init__(self, function: Function, module: Any) -> None:
        self.compiler = Compiler(function, Names(lambda name: None), _Lines(""))
        self.values: dict[int, Value] = {}
        self.alive: list[Any] = []
        self.places: dict[int, list[str]] = {}  # the ways from self to a parameter or buffer
        self.modules: dict[int, str] = {}  # the way from self to a module
        self.out_of_place = OUT_OF_PLACE[0]
        self.scopes: list[str] = []  # what TracingState.push_scope says
        self.frames: list[Frame] = []
        if module is not None:
            owner = function.owner
            self.self = function.block.param(Type("Class", cls=owner), "self")
            self.frames.append(Frame("", self.self, function.block))
            for name, t in (
                *module.named_parameters(remove_duplicate=False),
                *module.named_buffers(remove_duplicate=False),
            ):
                self.places.setdefault(id(t), []).append(name)
            for name, child in module.named_modules(remove_duplicate=False):
                self.modules.setdefault(id(child), name)

    def know(self, found: Any, value: Value) -> Any:
        """Note which value of the program an object is; a tensor becomes a traced one."""
        held = id(found) in self.places
        if held:  # what an op that writes to a parameter or buffer gives
            self.frames[-1].known[id(found)] = value
            value.example = example(found)
            return found
        if isinstance(found, SparseTensor):
            return self.held(found, value)
        if isinstance(found, torch.Tensor) and not isinstance(found, (TracedTensor, torch.nn.Parameter)):
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
        made = TracedInt(found)
        self.know(made, value)
        return made

    def note(self, op: Builtin, args: Any) -> None:
        """Make a call that gives no tensor a node."""
        self.compiler.call(op, [self.value(a) for a in args], {}, _AT)

    def value(self, found: Any) -> Value:
        """The program's value for an argument."""
        known = self.values.get(id(found))
        if known is not None:
            if not known.hint and isinstance(found, TracedTensor):
                known.hint = name_of(found, _PACKAGE)
            return known
        if isinstance(found, SparseTensor) and any(id(part) in self.values for part in found.parts):
            return self.sparse(found)
        if isinstance(found, torch.Tensor):
            return self.attribute(found)
        if isinstance(found, (list, tuple)) and any(
            isinstance(x, (torch.Tensor, TracedInt, list, tuple)) for x in found
        ):
            values = [self.value(x) for x in found]
            if {v.type for v in values} == {INT, TENSOR}:  # sizes, some of them tensors
                values = [self.compiler.turned(v, INT, _AT) for v in values]
            same = len({v.type for v in values}) == 1
            return (
                self.compiler.list_value(values, _AT, None)
                if same
                else self.compiler.value(Items(values), _AT)
            )
        if isinstance(found, (list, tuple)) and not found:
            return self.compiler.list_value([], _AT, INT)
        if isinstance(found, dict) and found:
            flat = [v for key, x in found.items() for v in (self.compiler.constant(_AT, key), self.value(x))]
            kind = Type("Dict", (flat[0].type, flat[1].type))
            return self.compiler.emit(_AT, "prim::DictConstruct", flat, kind).output
        if isinstance(found, TracedInt):
            found = int(found)
        if isinstance(found, (np.ndarray, np.generic)):
            return self.array(found)
        return self.compiler.constant(
            _AT, *self.compiler.names.plain(list(found) if isinstance(found, tuple) else found)
        )

    def sparse(self, found: SparseTensor) -> Value:
        """A sparse tensor that was put together of traced parts: indices and values."""
        parts = [self.value(part) for part in found.parts]
        size = self.compiler.list_value([self.compiler.constant(_AT, int(n)) for n in found.shape], _AT, INT)
        if len(parts) == 2:
            sure = {"is_coalesced": self.compiler.constant(_AT, True)} if found.coalesced else {}
            value = self.compiler.call_builtin("aten::sparse_coo_tensor", [*parts, size], sure, _AT)
        else:
            layout = {"layout": self.compiler.constant(_AT, *self.compiler.names.plain(found.layout))}
            value = self.compiler.call_builtin("aten::sparse_compressed_tensor", [*parts, size], layout, _AT)
        self.alive.append(found)
        self.values[id(found)] = value
        return value

    def sparsified(self, name: str, args: Any, kwargs: dict[str, Any], found: SparseTensor) -> Any:
        """A sparse tensor that an op made; what it holds are results, too."""
        values = [self.value(a) for a in args]
        named = {k: self.value(v) for k, v in kwargs.items()}
        return self.held(found, self.compiler.call_builtin(f"aten::{name}", values, named, _AT))

    def held(self, found: SparseTensor, value: Value) -> SparseTensor:
        """A sparse tensor of the program, whose parts the program asks it for."""
        readers = PARTS[found.layout] if len(found.parts) == 3 else ("_indices", "_values")
        parts = tuple(
            self.results(part, self.compiler.call_builtin(f"aten::{reader}", [value], {}, _AT))
            for part, reader in zip(found.parts, readers, strict=True)
        )
        made = make(parts, found.shape, found.coalesced, found.layout).requires_grad_(found.requires_grad)
        self.values[id(made)] = value
        self.alive.append(made)
        return made

    def array(self, found: Any) -> Value:
        """NumPy's numbers and arrays, with which an op of several steps computes: constants."""
        if found.ndim == 0:
            return self.compiler.constant(_AT, found.item())
        with paused():
            kept = torch.from_numpy(np.ascontiguousarray(found))
        self.alive.append(found)
        return self.compiler.emit(_AT, "prim::Constant", (), TENSOR, value=kept).output

    def whole(self, found: Any) -> Value:
        """The program's value for an argument of a compiled function, where a tuple is no list."""
        if type(found) is tuple and id(found) not in self.values:
            return self.compiler.value(Items([self.whole(x) for x in found]), _AT)
        if isinstance(found, list) and found:
            return self.compiler.list_value([self.whole(x) for x in found], _AT, None)
        if isinstance(found, dict) and found:
            flat = [v for key, x in found.items() for v in (self.value(key), self.whole(x))]
            kind = Type("Dict", (flat[0].type, flat[1].type))
            return self.compiler.emit(_AT, "prim::DictConstruct", flat, kind).output
        return self.value(found)

    def attribute(self, found: Any) -> Value:
        """A parameter or buffer, by its way from a module that runs; any other tensor is a constant."""
        paths = self.places.get(id(found))
        if paths is not None:
            for frame in reversed(self.frames):
                if id(found) in frame.known:
                    return frame.known[id(found)]
            frame, value = self.reached(paths)
            frame.known[id(found)] = value
        else:
            with paused():
                kept = _plain(found).detach()
            if found.requires_grad and not isinstance(found, TracedTensor):
                raise RuntimeError(
                    "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter "
                    f"or input, or detaching the gradient\nTensor:\n{found}"
                )
            self.alive.append(found)
            value = self.compiler.emit(_AT, "prim::Constant", (), TENSOR, value=kept).output
            self.values[id(found)] = value
        value.example = example(found)
        return value

    def reached(self, paths: list[str]) -> tuple[Frame, Value]:
        """What is at one of these ways from self: the innermost running module that has it, and the value."""
        number, path = max(
            (i, path) for path in paths for i, frame in enumerate(self.frames) if frame.holds(path)
        )
        frame = self.frames[number]
        outer, self.compiler.block = self.compiler.block, frame.block
        count = len(frame.block.nodes)
        value = frame.owner
        for name in path[len(frame.path) :].strip(".").split(".") if path != frame.path else ():
            value = self.compiler.member(value, value.type.cls, name, _AT)
        self.compiler.block = outer
        if number + 1 < len(self.frames):  # it is read before the call in which it is used
            made, nodes = frame.block.nodes[count:], frame.block.nodes
            del nodes[count:]
            place = nodes.index(self.frames[number + 1].call)
            nodes[place:place] = made
        return frame, value

    # --- modules --------------------------------------------------------------------------------

    def enter(self, module: Any, args: Any) -> None:
        """A module begins to run: what it does goes into a block of its own."""
        path = self.modules.get(id(module), "")
        if not path or tracing() is not self or isinstance(module, torch.jit.ScriptModule):
            return
        _, owner = self.reached([path])
        call = self.compiler.block.add("prim::TracedForward", [owner], place=_AT_LINES.place(None))
        code = getattr(type(module).forward, "__code__", None)
        names = list(code.co_varnames[1 : code.co_argcount]) if code is not None else []
        given = {
            name: self.values[id(x)]
            for name, x in zip(names, args, strict=False)
            if isinstance(x, torch.Tensor) and id(x) in self.values
        }
        call.attrs["arguments"] = list(given)
        for value in given.values():
            read(call, value)
        block = Block(scope=self.compiler.block.scope)
        call.blocks.append(block)
        self.frames.append(Frame(path, owner, block, call, id(module)))
        self.frames[-1].owner = block.param(owner.type, "self")
        self.compiler.block = block

    def leave(self, module: Any, args: Any, result: Any) -> None:
        """A module has run."""
        if tracing() is self and self.frames and self.frames[-1].module == id(module):
            values = [self.values.get(id(x)) for x in flatten(result)[0]]
            self.frames.pop().call.attrs["results"] = [v for v in values if v is not None]
            self.compiler.block = self.frames[-1].block

    def scripted(self, function: Function, args: tuple[Any, ...]) -> Any:
        """A call of a compiled function or method, which stays a call."""
        # What it needs, jit.tracing.trace, imports this file.
        from rushlight.jit.program.execute import runner

        own = function.owner is not None
        if own and id(args[0]) not in self.modules:
            return runner(function)(*args)  # of no module of this program: the ops that it runs
        with paused():
            found = runner(function)(*map(_plain, args))
        values = [self.whole(x) for x in args[own:]]
        if own:
            values.insert(0, self.reached([self.modules[id(args[0])]])[1])
        taken = self.compiler.arguments(function, function.arguments, values, {}, _AT)
        kind = "prim::CallMethod" if own else "prim::CallFunction"
        named = {"name": function.name} if own else {}
        value = self.compiler.emit(
            _AT, kind, taken, function.returns or NONE, function=function, **named
        ).output
        return self.results(found, value)

    def recording(self) -> bool:
        """Whether what runs now is recorded here."""
        return tracing() is self

    def applied(
        self, of: type[torch.autograd.Function], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A custom Function stays a call of Python, for its gradient is its own."""
        tensors = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor)]
        rest = tuple(None if isinstance(x, torch.Tensor) else _plain(x) for x in args)
        call = Applied(of, rest, tensors, _plain(kwargs))
        with paused():
            found = call(*(_plain(args[i]) for i in tensors))
        several = isinstance(found, (tuple, list))
        kind = Type("Tuple", (TENSOR,) * len(found)) if several else TENSOR
        value = self.compiler.emit(
            _AT, "prim::PythonOp", [self.value(args[i]) for i in tensors], kind, python=call
        ).output
        return self.results(found, value)

    def run(self, row: Any, call: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """An op: recorded under PyTorch's own name for such a call, or in the ops that it consists of."""
        if tracing() is not self:
            return call(*args, **kwargs)
        args, kwargs = plain_numbers(args), plain_numbers(kwargs)
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
            return self.record(Builtin(f"aten::{overload._schema.op_name}"), given, named, result)
        if row.kind == "composite" and kwargs.get("out") is None and not self.named(row):
            result = interpreters.within(self, call, args, kwargs)
            parts = [t for t in flatten(result)[0] if isinstance(t, torch.Tensor)]
            if all(id(t) in self.values for t in parts):
                return result
            return self.stays_python(row.name, call, args, kwargs)
        if isinstance(kwargs.get("out"), (tuple, list)):
            rest = {k: v for k, v in kwargs.items() if k != "out"}
            for place, part in zip(kwargs["out"], call(*args, **rest), strict=True):
                place.copy_(part)
            return tuple(kwargs["out"])
        try:
            return self.as_written(row, call, args, kwargs)
        except RuntimeError as error:
            if not isinstance(error, NoForm) and "Expected a value of type" not in str(error):
                raise
            return self.stays_python(row.name, call, args, kwargs)

    def stays_python(self, name: str, call: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """A call that TorchScript has no form for: it runs in the program, which files cannot hold then."""
        leaves, spec = flatten((tuple(args), kwargs))
        tensors = [i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
        rest = [None if isinstance(x, torch.Tensor) else _plain(x) for x in leaves]
        python = Called(call, rest, tensors, spec)
        with paused():
            found = python(*(_plain(leaves[i]) for i in tensors))
        if not tensors and name.startswith("_"):
            return found  # numbers of an op's own: a constant
        kind = TENSOR
        if isinstance(found, (tuple, list)):
            kind = Type("Tuple", tuple([NONE if x is None else TENSOR for x in found]))
        value = self.compiler.emit(
            _AT, "prim::PythonOp", [self.value(leaves[i]) for i in tensors], kind, python=python
        ).output
        return self.results(found, value)

    def op_called(self, op: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """An op that is called by its name. Of backward ops the program keeps the call, as what they do
        inside are gradients.
        """
        if tracing() is not self or not methods.is_backward(op):
            return NotImplemented
        return self.stays_python(op._schema.op_name, op, args, kwargs)

    def custom(self, op: Any, run: Any, how: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """An op that a program has defined stays a call of it, by its signature."""
        if tracing() is not self or not schemas.named(op._name):
            return run(*how)
        tree, given, leaves = how
        with paused():
            found = run(tree, given, [_plain(leaf) for leaf in leaves])
        return self.record(Builtin(op._name), args, kwargs, found)

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
        if self.out_of_place and args and isinstance(args[0], TracedTensor):
            func = replaced_write(func, name, args[0], self.value(args[0]))
        values = [self.value(a) for a in args]
        named = {k: self.value(v) for k, v in kwargs.items()}
        value = self.compiler.call(called(func, name), values, named, _AT)
        if isinstance(found, torch.Tensor) and isinstance(value, Value) and value.type.kind == "Tuple":
            value = self.compiler.parts(value, len(value.type.args), _AT)[0]  # the op's first result
        if "unique_consecutive" in (name, getattr(func, "kind", "")[6:]) and isinstance(
            found, tuple
        ):  # its op always has three results
            parts = self.compiler.parts(value, 3, _AT)
            asked = [True, *(v.node is None or v.node.attrs["value"] for v in values[1:3])]
            kept = [part for part, wanted in zip(parts, asked, strict=True) if wanted]
            return tuple(self.results(f, v) for f, v in zip(found, kept, strict=True))
        if args and isinstance(args[0], TracedTensor) and found is args[0].__dict__.get("_plain"):
            self.values[id(args[0])] = value  # an op that wrote to it
            value.example = example(found)
            return args[0]
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
        for part in map(plain_numbers, without_dots(base, index if isinstance(index, tuple) else (index,))):
            if isinstance(part, slice):
                bounds = (part.start, part.stop, part.step)
                parts.append(":".join(["" if p is None else self.spelled(p, env, True) for p in bounds]))
            else:
                parts.append(self.spelled(part, env))
        compiler.env = env
        tree = ast.parse(
            f"x[{', '.join(parts)}{',' * (len(parts) == 1 and isinstance(index, tuple))}]", mode="eval"
        ).body
        if stored and self.out_of_place:
            warn(SHARED.format("copy_"), TracerWarning)
        if name == "__getitem__":
            return compiler.indexed(self.value(base), tree.slice, _AT)  # type: ignore[attr-defined]
        compiler.set_item(self.value(base), tree, self.value(self.fitting(base, index, stored[0])), _AT)  # type: ignore[arg-type]
        return self.value(base)

    def entry(self, value: Value, key: Any) -> Value:
        """An entry of a dict."""
        key = self.compiler.constant(_AT, key)
        return self.compiler.call_builtin("aten::__getitem__", [value, key], {}, _AT)

    def fitting(self, base: Any, index: Any, stored: Any) -> Any:
        """What is stored at x[index], without leading dims of size 1 that the place does not have."""
        if not isinstance(stored, torch.Tensor):
            return stored
        with paused():
            left = stored.dim() - _plain(base)[_plain(index)].dim()
        return stored.view(stored.shape[left:]) if left > 0 else stored

    def spelled(self, part: Any, env: dict[str, Any], bound: bool = False) -> str:
        """A part of an index as text; what is traced gets a name in env. `bound`: of a slice."""
        if part is Ellipsis:
            return "..."
        if not isinstance(part, (torch.Tensor, TracedInt, np.ndarray)):
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
        if isinstance(found, dict):
            return {key: self.results(part, self.entry(value, key)) for key, part in found.items()}
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
    if name in ("max_unpool2d", "max_unpool3d"):
        return _unpooled
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
    kernel, size = bound["kernel_size"], list(unasked(torch.Tensor.size)(found))[-n:]
    kernel = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel] * n
    return name, [bound["input"], kernel, size, bound["_random_samples"]]


def _unpooled(row: Any, bound: dict[str, Any], result: Any) -> tuple[str, list[Any]]:
    n = int(row.name[-2])
    given = [bound["input"], bound["indices"], list(unasked(torch.Tensor.size)(result))[-n:]]
    if n == 3:
        stride = bound["kernel_size"] if bound["stride"] is None else bound["stride"]
        given += [list(v) if isinstance(v, (list, tuple)) else [v] * n for v in (stride, bound["padding"])]
    return row.name, given


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


def example(found: Any) -> Example | None:
    """What is told of a traced tensor; None of a sparse one."""
    if found.layout is not torch.strided:
        return None
    sizes = tuple(int(n) for n in unasked(torch.Tensor.size)(found))
    return Example(found.dtype, sizes, tuple(found.stride()), found.device, found.requires_grad)


@dataclass
class Called:
    """A function in a program that TorchScript has no op for: its tensors are the program's values."""

    function: Any
    leaves: list[Any]  # None where a tensor stands
    tensors: list[int]  # where tensors stand
    spec: Any

    @property
    def __name__(self) -> str:
        """The function's name."""
        return str(getattr(self.function, "__name__", self.function))

    def __call__(self, *tensors: torch.Tensor) -> Any:
        """What it gives for these tensors."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.tensors, tensors, strict=True):
            leaves[place] = tensor
        args, kwargs = self.spec.unflatten(leaves)
        return self.function(*args, **kwargs)


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
