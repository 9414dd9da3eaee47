"""Tracer: runs a module's forward on Proxies, and what it writes down is the graph."""

from __future__ import annotations

import builtins
import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from types import FunctionType
from typing import Any

import rushlight as torch
from rushlight._engine.core.pytree import flatten
from rushlight._engine.core.recording import TRACERS
from rushlight._engine.dispatch.spellings import row_of
from rushlight._engine.lazy import our_module
from rushlight._engine.names.built_in import plain
from rushlight.fx.concrete import ProxyableClassMeta, concrete_values
from rushlight.fx.conventions import _PyTreeCodeGen, _PyTreeInfo, nested
from rushlight.fx.graph import Graph
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node
from rushlight.fx.proxy import (
    GraphAppendingTracer,
    ParameterProxy,
    Proxy,
    Scope,
    ScopeContextManager,
    TracerBase,
    _seen,
)
from rushlight.fx.wrapping import _wrapped, wrap

__all__ = ["GraphAppendingTracer", "Tracer", "TracerBase", "symbolic_trace", "wrap"]

# (a class, a method's name): methods that are nodes when a Proxy comes to them.
_wrapped_methods_to_patch: list[tuple[type, str]] = []


# What stands before the name of a parameter that takes several arguments.
_STARS: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def is_fx_tracing() -> bool:
    """Whether a Tracer is at work."""
    return bool(TRACERS)


class Tracer(TracerBase):
    """Traces modules and functions: calls of leaf modules become nodes, others are gone through.

    autowrap_modules, autowrap_functions: whose functions become nodes when a Proxy comes to them.
    param_shapes_constant: whether a program may branch on parameters' sizes (they are ParameterProxies).
    """

    def __init__(
        self,
        autowrap_modules: Any = (math,),
        autowrap_functions: Any = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._modules = [vars(m) for m in autowrap_modules]
        self._functions = {
            id(f)
            for f in (
                *autowrap_functions,
                *(f for own in self._modules for name, f in own.items() if callable(f) and name[0] != "_"),
            )
        }
        self.tensor_attrs: dict[int, str] = {}
        self.param_shapes_constant = param_shapes_constant
        self.num_calls: dict[str, int] = {}
        self._begin()

    # --- what is a leaf --------------------------------------------------------------------------

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether a call of the module is one node: PyTorch's own modules, but for Sequential."""
        ours = m.__module__.startswith(("torch.nn", "rushlight.nn"))
        return ours and not isinstance(m, torch.nn.Sequential)

    def path_of_module(self, mod: Any) -> str:
        """The name of a submodule of the root; NameError if it is none."""
        for name, known in self.root.named_modules():
            if known is mod:
                return str(name)
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Any, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A module is called: a node for a leaf, else what its forward does."""
        name = self.path_of_module(m)
        calls = self.num_calls.get(name, 0)
        self.num_calls[name] = calls + 1
        key = f"{name}@{calls}" if calls else name
        with ScopeContextManager(self.scope, Scope(name, type(m))):
            self.module_stack[key] = (name, type(m))
            try:
                if self.is_leaf_module(m, name):
                    return self.create_proxy("call_module", name, args, kwargs)
                if isinstance(m, torch.jit.ScriptModule) and _has_proxies(args, kwargs):
                    return self.create_proxy("call_method", "forward", (m, *args), kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.pop(key, None)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """A module's attribute is read: a parameter is a node."""
        named = self.root.named_parameters()
        if not isinstance(attr_val, torch.nn.Parameter):
            if not self.proxy_buffer_attributes or not isinstance(attr_val, torch.Tensor):
                return attr_val
            named = self.root.named_buffers()
        name = next((n for n, p in named if p is attr_val), None)
        if name is None:
            return attr_val
        if name not in parameter_proxy_cache:
            parameter_proxy_cache[name] = self.create_proxy(
                "get_attr", name, (), {}, proxy_factory_fn=self._proxy_of(name, attr_val)
            )
        return parameter_proxy_cache[name]

    def _proxy_of(self, name: str, held: Any) -> Callable[[Node], Proxy] | None:
        """What makes the Proxy of a parameter that a module holds, if it is not an ordinary one."""
        if not (self.param_shapes_constant and isinstance(held, torch.nn.Parameter)):
            return None
        return lambda node: ParameterProxy(self, node, name, held)

    def get_fresh_qualname(self, prefix: str) -> str:
        """The first of prefix0, prefix1, ... that the root does not have."""
        return next(name for i in count() if not hasattr(self.root, name := f"{prefix}{i}"))

    def create_arg(self, a: Any) -> Any:
        """Tensors and modules of the root are named; other tensors become constants of the root."""
        if isinstance(a, torch.Tensor):
            name = self.tensor_attrs.get(id(a))
            if name is None:
                if isinstance(a, torch.nn.Parameter):
                    raise NameError("parameter is not a member of this module")
                name = self.tensor_attrs[id(a)] = self.get_fresh_qualname("_tensor_constant")
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {}, name.replace(".", "_"))
        if isinstance(a, torch.nn.Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(map(self.create_arg, a)), {})
        if isinstance(type(a), ProxyableClassMeta):  # made before the trace: a constant of the root
            name = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    # --- tracing ---------------------------------------------------------------------------------

    def trace(self, root: Any, concrete_args: dict[str, Any] | tuple[Any, ...] | None = None) -> Graph:
        """The graph of a module's forward (`traced_func_name`), or of a function.

        concrete_args: values of arguments, with which the program runs; the graph asserts that it is called
        with the same; a tuple: of all arguments. A `PH` in them stands for an input, so that containers may
        hold inputs.
        """
        self.graph = Graph(tracer_cls=type(self))
        self.num_calls = {}
        self._begin()
        module = isinstance(root, torch.nn.Module)
        self.root = root if module else torch.nn.Module()
        if module and not hasattr(type(root), self.traced_func_name):
            raise AssertionError(
                f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
            )
        function = getattr(type(root), self.traced_func_name) if module else root
        self.tensor_attrs = {id(t): name for name, t in _tensors(self.root)}
        run, args = self.create_args_for_root(function, module, concrete_args)
        with self._patched(getattr(inspect.unwrap(function), "__globals__", {})):
            found = run(*args)
            self.create_node(
                "output", "output", (self.create_arg(found),), {}, type_expr=_types(function).get("return")
            )
        return self.graph

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Any, list[Any]]:
        """(a function, its arguments): root_fn and a placeholder for each of its parameters, or a function of
        the leaves where arguments are containers of inputs.
        """
        args: list[Any] = [self.root] if is_module else []
        signature = inspect.signature(root_fn)
        parameters = list(_plainly(signature))
        if is_module and (not parameters or parameters[0].kind is parameters[0].VAR_POSITIONAL):
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        own = parameters[len(args) :]
        if isinstance(concrete_args, tuple):
            names = [p.name for p in own if p.kind not in _STARS]
            if concrete_args and own and not names and is_module:
                inputs = [f"input_{i}" for i in range(len(concrete_args))]  # forward takes any arguments
                return root_fn, [*args, *(self.create_proxy("placeholder", n, (), {}) for n in inputs)]
            if len(names) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(names)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(names, concrete_args, strict=True))
        for p in own:
            name = _STARS.get(p.kind, "") + p.name
            args.append(self._proxy_placeholder(name, concrete_args, signature, inspect.unwrap(root_fn)))
        return self._taken_apart(_taking_all(root_fn), args, root_fn)

    def _proxy_placeholder(
        self,
        name: str,
        concrete_args: dict[str, Any] | None,
        sig: inspect.Signature,
        fn_for_analysis: Callable[..., Any],
    ) -> Any:
        """What a function gets for a parameter, whose name has its stars: an input, or its concrete value."""
        p = sig.parameters[name.lstrip("*")]
        default = () if p.default is p.empty else (p.default,)
        if concrete_args and name in concrete_args:
            return concrete_values(self, name, concrete_args[name], default)
        typed = _types(fn_for_analysis).get(p.name)
        return self.create_proxy("placeholder", name, default, {}, name, typed)

    def _taken_apart(self, run: Any, args: list[Any], function: Any) -> tuple[Any, list[Any]]:
        """A function of the leaves, and these, where an argument is a container of inputs."""
        leaves, spec = flatten(tuple(args))
        if not nested(spec):
            return run, args
        names = [p.name for p in _plainly(inspect.signature(function))]

        def on_leaves(*given: Any) -> list[Any]:
            found, out_spec = flatten(run(*spec.unflatten(given)))
            self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names, spec, out_spec))
            return found

        return on_leaves, leaves

    @contextmanager
    def _patched(self, scope: dict[str, Any]) -> Iterator[None]:
        """Modules tell of their calls and attributes, wrapped functions of their calls."""
        cls: Any = torch.nn.Module
        cache: dict[Any, Any] = {}
        call, get = cls.__call__, cls.__getattr__

        def called(module: Any, *args: Any, **kwargs: Any) -> Any:
            look_in(getattr(getattr(module, "forward", module), "__globals__", None))
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        def read(module: Any, attr: str) -> Any:
            return self.getattr(attr, get(module, attr), cache)

        held: list[tuple[dict[str, Any], str, Any]] = []
        seen: set[int] = set()

        def replace(functions: list[tuple[dict[str, Any], str, Any]]) -> None:
            """Calls of these, (globals, name, function), are nodes as long as this runs."""
            for own, name, known in functions:
                run = known if known is not None else vars(builtins)[name]
                held.append((own, name, known))
                own[name] = self._wrapping(run)

        def look_in(own: dict[str, Any] | None) -> None:
            """The same of a module's globals, when they are first met."""
            if own is not None and id(own) not in seen:
                seen.add(id(own))
                replace([(own, name, f) for name, f in own.items() if id(f) in self._functions])

        methods = [(owner, name, getattr(owner, name)) for owner, name in _wrapped_methods_to_patch]
        cls.__call__, cls.__getattr__ = called, read
        TRACERS.append(self)
        try:
            for owner, name, method in methods:
                setattr(owner, name, self._wrapping_method(name, method))
            replace([(own, name, own.get(name)) for own, name in _wrapped])
            for own in (scope, *self._modules):
                look_in(own)
            yield
        finally:
            cls.__call__, cls.__getattr__ = call, get
            TRACERS.pop()
            for owner, name, method in methods:
                setattr(owner, name, method)
            for own, name, known in reversed(held):
                if known is None:
                    own.pop(name, None)  # it may have been wrapped twice
                else:
                    own[name] = known

    def _wrapping(self, function: Any) -> Any:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if _has_proxies(args, kwargs):
                found = self.create_proxy("call_function", function, args, kwargs)
                found.node.meta["is_wrapped"] = True
                return found
            return function(*args, **kwargs)

        return wrapped

    def _wrapping_method(self, name: str, method: Any) -> Any:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if _has_proxies(args, kwargs):
                return self.create_proxy("call_method", name, args, kwargs)
            return method(*args, **kwargs)

        return wrapped


def _has_proxies(args: Any, kwargs: Any) -> bool:
    """Whether a Proxy is among the arguments, or in a container there."""
    found: list[Any] = []
    _seen(found, args)
    _seen(found, kwargs)
    return bool(found)


def _types(function: Any) -> dict[str, Any]:
    """The annotations of a program's function; those of our own modules say little (`Any`)."""
    ours = our_module(function).startswith("rushlight.")
    return {} if ours else getattr(inspect.unwrap(function), "__annotations__", {})


def _plainly(signature: inspect.Signature) -> list[inspect.Parameter]:
    """Parameters in the order of a function's variables: those with a star come last."""
    return sorted(
        signature.parameters.values(), key=lambda p: (p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD), p.kind)
    )


def _taking_all(function: Any) -> Any:
    """The function with all its variables as positional arguments, so that a Proxy may be *args or
    **kwargs.
    """
    inner = plain(inspect.unwrap(function))
    if not isinstance(inner, FunctionType):
        return function
    if row_of(inner) is not None:  # an op's: its signature is told beside its code
        listed = [p.name for p in _plainly(inspect.signature(function))]
        return lambda *given: function(**dict(zip(listed, given, strict=True)))
    code = inner.__code__
    if not code.co_kwonlyargcount and not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return function
    stars = [flag for flag in (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS) if code.co_flags & flag]
    positional = code.replace(
        co_argcount=code.co_argcount + code.co_kwonlyargcount + len(stars),
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~sum(stars),
    )
    return FunctionType(positional, inner.__globals__, inner.__name__, inner.__defaults__, inner.__closure__)


def _tensors(root: Any) -> Iterator[tuple[str, Any]]:
    """The tensors that a module and those in it hold, with their names."""
    for prefix, module in root.named_modules():
        own = {**module._parameters, **module._buffers, **module.__dict__}
        for name, value in own.items():
            if isinstance(value, torch.Tensor):
                yield f"{prefix}.{name}".lstrip("."), value


class KeepModules(Tracer):
    """A tracer to which every module in the root is a leaf."""

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Always."""
        return True


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | tuple[Any, ...] | None = None) -> GraphModule:
    """The GraphModule of a module or function, traced with Proxies for its arguments."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
