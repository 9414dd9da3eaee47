"""torch.jit.trace and trace_module: record a call as a program, and compare the two."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import flatten
from rushlight.jit._state import _enabled
from rushlight.jit.compiler.names import compile_method, unique
from rushlight.jit.compiler.values import Items
from rushlight.jit.modules import (
    ScriptFunction,
    ScriptModule,
    TopLevelTracedModule,
    TracedModule,
    annotated,
    attributes,
    instance,
)
from rushlight.jit.program import schema as schemas
from rushlight.jit.program.graphs import Graph
from rushlight.jit.program.ir import Function, Value
from rushlight.jit.program.memory import sweep
from rushlight.jit.program.types import BOOL, NONE, TENSOR, ClassType, Type, of_value, qualified
from rushlight.jit.state import OUT_OF_PLACE, STACK
from rushlight.jit.tracing.checking import check, copies
from rushlight.jit.tracing.lifting import lift
from rushlight.jit.tracing.naming import know_tuples
from rushlight.jit.tracing.traced import TracedInt, TracerWarning, TracingCheckError, _plain
from rushlight.jit.tracing.tracer import _AT, Tracer
from rushlight.nn.modules.base.hooks import register_module_forward_hook, register_module_forward_pre_hook
from rushlight.nn.modules.module import Module


def _may_replace_writes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of a function that records: _force_outplace=True makes ops that write to a tensor ops that do not."""

    @functools.wraps(function)
    def recording(*args: Any, _force_outplace: bool = False, **kwargs: Any) -> Any:
        before, OUT_OF_PLACE[0] = OUT_OF_PLACE[0], OUT_OF_PLACE[0] or _force_outplace
        try:
            return function(*args, **kwargs)
        finally:
            OUT_OF_PLACE[0] = before

    return recording


@_may_replace_writes
def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: Any = None,
    _store_inputs: bool = True,
) -> Any:
    """Record `func`, a function or module, on example inputs; the program, as a ScriptFunction or
    ScriptModule.

    check_inputs: more tuples of inputs for which the program is compared with `func`, within check_tolerance.
    strict=False allows lists and dicts as results. Raises RuntimeError for what a program cannot hold.
    """
    if not _enabled or isinstance(func, (ScriptModule, ScriptFunction)):
        return func
    if isinstance(func, Module):
        return trace_module(
            func,
            {"forward": _by_name(func, example_inputs, example_kwarg_inputs)},
            optimize,
            check_trace,
            None if check_inputs is None else [{"forward": i} for i in check_inputs],
            check_tolerance,
            strict,
        )
    module = getattr(func, "__self__", None)
    if isinstance(module, Module):
        if func.__name__ != "forward":
            raise AttributeError(
                "trace doesn't support compiling individual module's functions.\nPlease use trace_module"
            )
        given = _by_name(module, example_inputs, example_kwarg_inputs)
        more = None if check_inputs is None else [{"forward": i} for i in check_inputs]
        return trace_module(module, {"forward": given}, optimize, check_trace, more, check_tolerance, strict)
    inputs = _by_name(func, example_inputs, example_kwarg_inputs)
    name = getattr(func, "__name__", "forward")
    path = f"__torch__.{name if name.isidentifier() else 'forward'}"
    function = Function(unique(path), [], None)
    _record(func, function, None, inputs, strict)
    made = ScriptFunction(function, func)

    def again(given: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
        second = Function(path, [], None)
        _record(func, second, None, _like(inputs, given), strict)
        return second, ()

    checked = [inputs] if check_inputs is None else map(_inputs, check_inputs)
    for given in checked if check_trace else ():
        check(function, again, made, _by_place(func, given), given, check_tolerance)
    return made


@_may_replace_writes
def trace_module(
    mod: Module,
    inputs: dict[str, Any],
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    *rest: Any,
    **more: Any,
) -> Any:
    """Record methods of a module: inputs is {"forward": example inputs, ...}."""
    if not _enabled:
        return mod
    for child in mod.modules():
        if child._backward_hooks:
            raise ValueError(f"Modules that have backward hooks assigned can't be compiled: {child}")
    if more.get("example_inputs_is_kwarg"):
        inputs = {name: _by_name(getattr(mod, name), None, given) for name, given in inputs.items()}
    owner = _class_of(mod, {})
    made = _wrapped(mod, owner, {})
    checked = [inputs] if check_inputs is None else check_inputs
    for name, given in inputs.items():
        _method(mod, owner, name, _inputs(given), strict)
        for each in checked if check_trace else ():
            _check_method(mod, made, owner, name, each, check_tolerance, strict)
    return made


def _check_method(
    mod: Module, made: Any, owner: ClassType, name: str, inputs: Any, tolerance: float, strict: bool
) -> None:
    """Compare a method with the module's, recorded once more with all methods of `inputs`."""
    mine = _inputs(inputs[name])

    def again(clones: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
        second = _class_of(mod, {})
        for other, values in inputs.items():
            like = _like(mine, clones) if other == name else copies(_inputs(values))
            _method(mod, second, other, like, strict)
        return second.methods[name], (_wrapped(mod, second, {}),)

    by_place = _by_place(mod if name == "forward" else getattr(mod, name), mine)
    check(owner.methods[name], again, getattr(made, name), by_place, mine, tolerance)


def _method(mod: Any, owner: ClassType, name: str, inputs: tuple[Any, ...], strict: bool) -> Function:
    """Record one method of a module into its type."""
    function = owner.methods[name] = Function(f"{owner.qualname}.{name}", [], None, owner=owner)
    _record(getattr(mod, name) if name != "forward" else mod, function, mod, inputs, strict)
    return function


def _by_name(func: Any, inputs: Any, named: dict[str, Any] | None) -> tuple[Any, ...]:
    """The example inputs in a row, also where they were given by their names."""
    if named is None:
        return _inputs(inputs)
    formal = inspect.signature(func.forward if isinstance(func, Module) else func).parameters.values()
    places = [p.name for p in formal if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    unknown = [name for name in named if name not in places]
    if unknown:
        raise RuntimeError(f"example_kwarg_inputs: expected names among {places}, got {unknown}")
    return _Named({name: named[name] for name in places if name in named})


class _Named(tuple[Any, ...]):
    """Example inputs that were given by their names."""

    names: list[str]

    def __new__(cls, named: dict[str, Any]) -> _Named:
        """The inputs in the order of a dict."""
        made = super().__new__(cls, named.values())
        made.names = list(named)
        return made


def _inputs(given: Any) -> tuple[Any, ...]:
    if isinstance(given, _Named):
        return given
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def _like(inputs: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Other inputs, by the same names."""
    return _Named(dict(zip(inputs.names, given, strict=True))) if isinstance(inputs, _Named) else given


def _by_place(call: Any, inputs: tuple[Any, ...]) -> Any:
    """A function that takes in a row what `call` takes by the names of the inputs."""
    if not isinstance(inputs, _Named):
        return call
    return lambda *given: call(**dict(zip(inputs.names, given, strict=True)))


def _record(call: Any, function: Function, module: Any, inputs: tuple[Any, ...], strict: bool) -> None:
    """Run `call` and write down what it does."""
    tracer = Tracer(function, module)
    if module is not None:
        function.arguments.append(("self", tracer.self.type, schemas.REQUIRED))
    if any(_untraceable(x) for x in inputs):
        raise RuntimeError(
            f"Type 'Tuple[{', '.join(map(_type_text, inputs))}]' cannot be traced. Only Tensors and "
            "(possibly nested) Lists, Dicts, and Tuples of Tensors can be traced"
        )
    named = inputs.names if isinstance(inputs, _Named) else None
    names = named or _argument_names(call, module, len(inputs))
    given = [_argument(tracer, function, n, x) for n, x in zip(names, inputs, strict=True)]
    hooks = []
    if module is not None:
        hooks = [
            register_module_forward_pre_hook(tracer.enter),
            register_module_forward_hook(tracer.leave, always_call=True),
        ]
    STACK.append(tracer)
    try:
        with tracer:
            found = _by_place(call, inputs)(*given)
    finally:
        STACK.pop()
        for hook in hooks:
            hook.remove()
    result = _result(tracer, found, strict)
    function.returns, function.finished = result.type, True
    function.block.finish([result])
    sweep(function.block)
    lift(function.block)
    know_tuples(function.block)


@_may_replace_writes
def _get_trace_graph(
    f: Any,
    args: Any = (),
    kwargs: Any = None,
    strict: bool = True,
    _force_outplace: bool = False,
    return_inputs: bool = False,
    _return_inputs_states: bool = False,
) -> tuple[Any, ...]:
    """The graph of a call, and what it gave: what goes in are the tensors of `args`, then all parameters and
    buffers.
    """
    function = Function("forward", [], None)
    tracer = Tracer(function, None)
    inputs = (args if isinstance(args, tuple) else (args,), dict(kwargs or {}))
    leaves, spec = flatten(inputs)
    tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
    values = [function.block.param(TENSOR) for _ in tensors]
    known = {id(x): tracer.know(x, v) for x, v in zip(tensors, values, strict=True)}
    state = f.state_dict(keep_vars=True) if isinstance(f, Module) else {}
    for tensor in {id(t): t for t in state.values() if isinstance(t, torch.Tensor)}.values():
        tracer.state(tensor)
    given, named = spec.unflatten([known.get(id(x), x) for x in leaves])
    STACK.append(tracer)
    try:
        with tracer:
            found = f(*given, **named)
    finally:
        STACK.pop()
    results = [x for x in flatten(found)[0] if isinstance(x, torch.Tensor)]
    function.finished = True
    function.block.finish([tracer.value(x) for x in results])
    sweep(function.block)
    plain = _plain(found)
    extra: tuple[Any, ...] = ()
    if return_inputs:
        everything = [*tensors, *dict.fromkeys(t for t in state.values() if isinstance(t, torch.Tensor))]
        extra = (tuple(t.detach().clone() for t in everything),)
    elif _return_inputs_states:
        extra = ((inputs[0], state),)
    return Graph(function), plain, *extra


def _argument_names(call: Any, module: Any, count: int) -> list[str]:
    code = getattr(getattr(type(module), "forward", None) if module is not None else call, "__code__", None)
    names = list(code.co_varnames[: code.co_argcount])[module is not None :] if code else []
    return (names + [f"argument_{i}" for i in range(len(names), count)])[:count]


def _argument(tracer: Tracer, function: Function, name: str, x: Any) -> Any:
    """An input of the program: a tensor, or tuples, lists and dicts of tensors."""
    t = _traced_type(x)
    value = function.block.param(t, name)
    function.arguments.append((name, t, schemas.REQUIRED))
    if isinstance(x, torch.Tensor):  # a view, so that it is not taken for the parameter that it may be
        x = x.view_as(x) if x.layout == torch.strided else x
    return tracer.results(x, value)


def _traced_type(x: Any) -> Type:
    """The type of an example; RuntimeError for what no trace takes."""
    if isinstance(x, (list, dict)):
        kind = "List" if isinstance(x, list) else "Dictionary"
        if not x:
            needed = "elements" if isinstance(x, list) else "entries"
            raise RuntimeError(f"{kind if kind != 'List' else 'List trace'} inputs must have {needed}")
        types = list(dict.fromkeys(map(_traced_type, x if isinstance(x, list) else x.values())))
        if len(types) > 1:
            wanted = "element type" if isinstance(x, list) else "type"
            raise RuntimeError(
                f"{kind} inputs to traced functions must have consistent {wanted}. Found {types[0]} and "
                f"{types[1]}"
            )
        return Type("List", (types[0],)) if isinstance(x, list) else Type("Dict", (_key(x), types[0]))
    if type(x) is tuple:
        return Type("Tuple", tuple(map(_traced_type, x)))
    return of_value(x)


def _untraceable(x: Any) -> bool:
    if isinstance(x, (list, tuple, dict)):
        return any(map(_untraceable, x.values() if isinstance(x, dict) else x))
    return not isinstance(x, torch.Tensor)


def _type_text(x: Any) -> str:
    with suppress(TypeError):
        return str(of_value(x))
    return type(x).__name__


def _key(x: dict[Any, Any]) -> Type:
    return of_value(next(iter(x)))


def _result(tracer: Tracer, found: Any, strict: bool) -> Value:
    """What the program returns."""
    kind = type(found).__name__
    plain_list = isinstance(found, list) and all(isinstance(x, torch.Tensor) for x in found)
    if strict and (plain_list or isinstance(found, dict)):
        message = (
            f"Encountering a {kind} at the output of the tracer might cause the trace to be incorrect, this "
            "is only valid if the container structure does not change based on the module's inputs. "
            "Consider using a constant container instead (e.g. for `list`, use a `tuple` instead. for "
            "`dict`, use a `NamedTuple` instead). If you absolutely need this and know the side effects, "
            "pass strict=False to trace() to allow this behavior."
        )
        if isinstance(found, dict):
            raise RuntimeError(message)
        warn(message, TracerWarning)
    compiler = tracer.compiler
    if isinstance(found, dict):
        _check_entries(found)
        flat = [v for k, x in found.items() for v in (tracer.value(k), _result(tracer, x, strict))]
        return compiler.emit(
            _AT, "prim::DictConstruct", flat, Type("Dict", (flat[0].type, flat[1].type))
        ).output
    if isinstance(found, tuple):
        return compiler.value(Items([_result(tracer, x, strict) for x in found]), _AT)
    if plain_list:
        return compiler.list_value([_result(tracer, x, strict) for x in found], _AT, None)
    if isinstance(found, TracedInt):
        return compiler.call_builtin("prim::NumToTensor", [tracer.value(found)], {}, _AT)
    if not isinstance(found, torch.Tensor):
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced "
            "functions"
        )
    return tracer.value(found)


def _check_entries(found: dict[Any, Any]) -> None:
    """Raise for a dict that no program gives."""
    for key, value in found.items():
        parts = list(value) if isinstance(value, tuple) else [value]
        parts += [] if isinstance(key, str) else [key]
        if not all(isinstance(v, torch.Tensor) for v in parts):
            raise RuntimeError(
                f"Dict[{type(key).__name__}, {type(value).__name__}] cannot be understood by the tracer, "
                "only outputs matching dict[Union[str, Tensor], Union[Tensor, Tuple[Tensor, ...]]] can be a "
                "dictionary output of a traced function"
            )


def _class_of(module: Any, known: dict[int, ClassType], whole: bool = False) -> ClassType:
    """A type of its own for a traced module: parameters, buffers and modules."""
    if isinstance(module, ScriptModule):
        return module._type
    if id(module) in known:
        return known[id(module)]
    owner = known[id(module)] = ClassType(unique(qualified(type(module))), True)
    for kind, table in (("parameter", module._parameters), ("buffer", module._buffers)):
        for name, value in table.items():
            owner.fields[name], owner.kinds[name] = (NONE if value is None else TENSOR), kind
    owner.fields["training"], owner.kinds["training"] = BOOL, "attribute"
    exported = [
        name
        for name in dir(type(module))
        if getattr(inspect.getattr_static(type(module), name), "_torchscript_modifier", "") == "export"
    ]
    owner.python, owner.compile = (
        type(module),
        lambda name: compile_method(owner, name) if name in exported else None,
    )
    whole = whole or bool(exported)
    if whole:  # a trace has what other attributes are as constants
        attributes(module, owner, annotated(type(module)))
    for name, child in module._modules.items():
        if child is not None:
            owner.fields[name], owner.kinds[name] = (
                Type("Class", cls=_class_of(child, known, whole)),
                "module",
            )
    for name in exported:
        owner.method(name)
    return owner


def _wrapped(module: Any, owner: ClassType, known: dict[int, Any], top: bool = True) -> Any:
    if isinstance(module, ScriptModule):
        return module
    if id(module) in known:
        return known[id(module)]
    values = {
        name: _wrapped(module._modules[name], owner.fields[name].cls, known, False)
        if owner.kinds[name] == "module"
        else getattr(module, name)
        for name in owner.fields
    }
    made = known[id(module)] = instance(owner, values, TopLevelTracedModule if top else TracedModule)
    return made


__all__ = ["TracerWarning", "TracingCheckError", "_get_trace_graph", "trace", "trace_module"]
