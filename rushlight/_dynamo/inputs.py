"""What the inputs of a backend's graph are to the program: their names, such as `L_x_` and
`L_self_modules_fc_parameters_weight_`, which parameters they are, and of what shape the results are that the
graph makes of them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from types import FunctionType
from typing import Any

from rushlight import fx
from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.tensors.tensor import Tensor
from rushlight._engine.trace.writes import filled
from rushlight._subclasses.fake_tensor import FakeTensorMode
from rushlight.nn import Module

Named = tuple[str, Tensor]
_PLAIN = (int, float, complex, str, bytes, type(None))  # which hold no tensors


class Call:
    """A call of a compiled function, as far as a graph that is made in it wants to know."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.enabled = LOCAL.enabled  # grad mode, where it begins
        self._found: dict[int, Named] | None = None

    def named(self, array: Any) -> Named | None:
        """The name and the tensor of this array, among what the call was given and its function holds."""
        known = self._found
        if known is None:
            every, known = list(self._all()), {}
            held = [(name, t) for name, t in every if filled(t)]  # others are no inputs: they are to be made
            for name, t in held:
                known.setdefault(id(t._array), (name, t))
            if len(held) == len(every):
                self._found = known
        found = known.get(id(array))
        return found if found is not None and found[1]._array is array else None

    def _all(self) -> Iterator[Named]:
        function, args, seen = self.function, self.args, set[int]()
        owner: Any = getattr(function, "__self__", None)
        if owner is not None:
            args = (owner, *args)
            function = owner.forward if isinstance(owner, Module) else function
        plain: Any = getattr(function, "__func__", function)
        try:
            given = signature(plain).bind(*args, **self.kwargs).arguments
        except (TypeError, ValueError):
            given = {f"args_{i}": v for i, v in enumerate(args)} | self.kwargs
        for name, value in given.items():
            yield from _tensors(f"L['{name}']", value, seen)
        if isinstance(plain, FunctionType):
            yield from _held(plain, seen)


def _held(function: FunctionType, seen: set[int]) -> Iterator[Named]:
    """Of a function's free variables and globals."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield from _tensors(f"L['{name}']", cell.cell_contents, seen)
        except ValueError:  # a variable that has no value yet
            continue
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield from _tensors(f"G['{name}']", function.__globals__[name], seen)


def _tensors(source: str, value: Any, seen: set[int]) -> Iterator[Named]:
    """Tensors within a value, by how a program writes where they are: shortest names first. What was `seen`
    is not looked into again.
    """
    left = deque([(source, value)])
    while left:
        source, value = left.popleft()
        if isinstance(value, Tensor):
            if not value._kind.lazy:
                yield source, value
        elif id(value) not in seen:
            seen.add(id(value))
            items = _items(value)
            left += [(f"{source}{how.format(n)}", v) for how, n, v in items if not isinstance(v, _PLAIN)]


def _items(value: Any) -> Iterator[tuple[str, Any, Any]]:
    """What a value holds: by what name, and how that is written behind the value's own."""
    if isinstance(value, Module):
        for kind in ("_parameters", "_buffers", "_modules"):
            yield from [(f".{kind}['{{}}']", name, item) for name, item in getattr(value, kind).items()]
        yield from [(".{}", name, item) for name, item in vars(value).items() if not name.startswith("_")]
    elif isinstance(value, dict):
        yield from [("[{!r}]", key, item) for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        yield from [("[{}]", i, item) for i, item in enumerate(value)]
    elif not isinstance(value, type) and type(value).__module__ != "builtins":
        held = getattr(value, "__dict__", {}).items()
        yield from [(".{}", name, item) for name, item in held if isinstance(item, (Tensor, Module))]


def examples(call: Call | None, module: fx.GraphModule, given: Sequence[Tensor]) -> list[Tensor]:
    """The inputs as the program has them (its parameters), after which the graph's inputs are called now."""
    found: list[Tensor] = []
    nodes = [n for n in module.graph.nodes if n.op == "placeholder"]
    taken = {n.target for n in nodes}
    for node, t in zip(nodes, given, strict=True):
        known = call.named(t._array) if call is not None else None
        if known is not None:
            target = re.sub(r"[^0-9a-zA-Z]+", "_", known[0])
            if target not in taken:  # another tensor of the same memory keeps its number
                node._rename(target.lower())
                node.target = target
                taken.add(target)
        found.append(known[1] if known is not None else t)
    module.recompile()
    return found


def tell_shapes(module: fx.GraphModule, given: Sequence[Tensor]) -> None:
    """Each node's meta["example_value"]: a tensor without data, as the graph makes it of such inputs."""
    try:
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            _Shapes(module).run(*[mode.from_tensor(t.detach()) for t in given])
    except Exception:  # an op whose shapes hang on data: what follows has none
        return


class _Shapes(fx.Interpreter):
    def run_node(self, n: fx.Node) -> Any:
        """The node's value, which is noted."""
        found = super().run_node(n)
        if n.op != "output":
            n.meta["example_value"] = found
        return found
