"""One call of a function or module as a graph of the functions of torch that
the program calls, which takes and gives what the program does.

The call runs once, on copies of its arguments; what it changes in modules, and in the lists, dicts and sets
that it names, is put back. Each function of torch that it calls is a node. Tensors that it does not make are
inputs of the graph: what it is given, parameters and buffers of its module, and variables of its function.
"""

from __future__ import annotations

import operator
import re
from typing import Any, NamedTuple

import rushlight as torch
from rushlight import fx
from rushlight._dynamo.exc import Unsupported
from rushlight._dynamo.graphs.calls import as_operator, program_frame, written
from rushlight._dynamo.inputs import Call
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight._engine.dispatch import method_overrides
from rushlight.overrides import TorchFunctionMode

# Methods that take numbers out of tensors: a graph has no place for what follows from them.
_READS = frozenset(
    "__bool__ __int__ __float__ __complex__ __index__ __contains__ __array__ item tolist numpy".split()
)


class Input(NamedTuple):
    """A graph's input: how a program writes where it comes from; which of the arguments' leaves it is, or by
    what name the module has it, or the tensor itself.
    """

    source: str
    leaf: int | None = None
    held: str | None = None
    tensor: Any = None


class Sources:
    """The tensors that a call may use without having made them, by identity."""

    def __init__(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.leaves = flatten((args, kwargs))[0]
        owner = f if isinstance(f, torch.nn.Module) else getattr(f, "__self__", None)
        self.owner = owner if isinstance(owner, torch.nn.Module) else None
        places = {id(t): i for i, t in enumerate(self.leaves) if isinstance(t, torch.Tensor)}
        state: dict[int, str] = {}
        if self.owner is not None:
            for name, t in (*self.owner.named_parameters(), *self.owner.named_buffers()):
                state[id(t)] = name
        self.known: dict[int, Input] = {}
        for source, t in _entered(f, args, kwargs)._all():
            self.known.setdefault(id(t), Input(source, places.get(id(t)), state.get(id(t)), t))

    def of(self, tensor: Any, number: int) -> Input:
        """Where a tensor comes from; of one that nobody names, that it is kept."""
        return self.known.get(id(tensor)) or Input(f"_tensor_constant{number}", tensor=tensor)


def _attribute(descriptor: Any) -> str:
    """What a property of tensors is called."""
    name = getattr(descriptor, "__name__", None) or getattr(descriptor.fget, "__name__", "")
    return str(name)


def _entered(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """The call of what a call of f runs first: of a module its forward, or what comes before it."""
    if not isinstance(f, torch.nn.Module):
        return Call(f, args, kwargs)
    hooks = f._forward_pre_hooks or f._forward_hooks
    if type(f).__call__ is not torch.nn.Module.__call__:
        return Call(type(f).__call__, (f, *args), kwargs)
    return Call(_called, (f, *args), kwargs) if hooks else Call(f.forward, args, kwargs)


def _called(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Stands for the call of a module that has hooks."""


class Recorder(TorchFunctionMode):
    """Writes each call of a function of torch as a node."""

    def __init__(self, sources: Sources) -> None:
        super().__init__()
        self.sources, self.graph = sources, fx.Graph()
        self.known: dict[int, fx.Node] = {}
        self.inputs: list[Input] = []
        # Identities are told apart only while the tensors live.
        self.kept: list[Any] = []
        self.grads = torch.is_grad_enabled()
        self.autocast = torch.is_autocast_enabled("cpu")

    def __enter__(self) -> Any:
        method_overrides.enter()  # x[0], x.T and their like are asked about as well
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        method_overrides.leave()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Runs the function, and writes it if it gives a tensor or writes into one."""
        kwargs = kwargs or {}
        name = getattr(func, "__name__", str(func))
        if name in _READS or name in ("backward", "__set__", "__delete__"):
            raise Unsupported(f"a graph cannot say what the program does with the result of Tensor.{name}")
        found = func(*args, **kwargs)
        tensors = [t for t in flatten(found)[0] if isinstance(t, torch.Tensor)]
        if tensors or (name.endswith("_") and found is None) or name == "__setitem__":
            self._write(func, name, args, kwargs, found)
        return found

    def _write(self, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], found: Any) -> None:
        if torch.is_autocast_enabled("cpu") is not self.autocast:
            raise Unsupported("a graph cannot say that the program enters or leaves autocast")
        frame = program_frame()
        how = written(frame)
        self._state((args, kwargs))
        self.mode(torch.is_grad_enabled())
        given, named = tree_map(self.argument, (args, kwargs))
        owner: Any = getattr(func, "__self__", None)
        said = as_operator(how, name, given) if not named else None
        if name == "__get__":
            node = self.graph.call_function(getattr, (given[0], _attribute(owner)))
        elif said is not None:
            node = self.graph.call_function(*said)
        elif name == "__setitem__":
            node = self.graph.call_function(operator.setitem, given)
        elif getattr(func, "__qualname__", "").startswith("Tensor.") and isinstance(given[0], fx.Node):
            node = self.graph.call_method(name, given, named)
        else:
            node = self.graph.call_function(func, given, named)
        if how.variable and how.variable.isidentifier() and isinstance(found, torch.Tensor):
            node._rename(how.variable)
        if frame is not None:
            code = frame.f_code
            node.stack_trace = f'  File "{code.co_filename}", line {frame.f_lineno}, in {code.co_name}\n'
        self._results(node, found)

    def _state(self, operands: Any) -> None:
        """Inputs of the state among operands, which come before others."""
        for t in flatten(operands)[0]:
            if isinstance(t, torch.Tensor) and id(t) not in self.known:
                own = self.sources.known.get(id(t))
                if own is not None and own.held is not None:
                    self.argument(t)

    def argument(self, value: Any) -> Any:
        """A tensor's node; an input where the program has not made it. Other values as they are."""
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in self.known:
            own = self.sources.of(value, len(self.inputs))
            target = re.sub(r"[^0-9a-zA-Z]+", "_", own.source)
            target += f"_{len(self.inputs)}" * any(target == n.target for n in self.known.values())
            with self.graph._behind_inputs():
                node = self.graph.placeholder(target)
            node._rename(target.lower())
            self.inputs.append(own)
            self.known[id(value)] = node
            self.kept.append(value)
        return self.known[id(value)]

    def _results(self, node: fx.Node, found: Any) -> None:
        self.kept.append(found)
        if isinstance(found, torch.Tensor):
            self.known[id(found)] = node
        elif isinstance(found, (list, tuple)):
            for i, part in enumerate(found):
                inner = self.graph.call_function(operator.getitem, (node, i))
                self._results(inner, part)

    def mode(self, enabled: bool) -> None:
        """What follows runs in this grad mode."""
        if enabled is not self.grads:
            self.grads = enabled
            self.graph.call_function(torch._C._set_grad_enabled, (enabled,))
