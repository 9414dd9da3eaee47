"""torch.jit.trace and trace_module: record a call as a program, and compare the two."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import flatten
from rushlight.jit.compiler.names import unique
from rushlight.jit.compiler.values import Items
from rushlight.jit.modules import ScriptFunction, ScriptModule, TopLevelTracedModule, instance
from rushlight.jit.program import schema as schemas
from rushlight.jit.program.graphs import Graph
from rushlight.jit.program.ir import Function, Value
from rushlight.jit.program.tidy import prune
from rushlight.jit.program.types import BOOL, NONE, TENSOR, ClassType, Type, of_value, qualified
from rushlight.jit.state import STACK
from rushlight.jit.tracer import _AT, Tracer, TracerWarning, TracingCheckError, _plain
from rushlight.nn.modules.module import Module


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
    if isinstance(func, (ScriptModule, ScriptFunction)):
        return func
    if isinstance(func, Module):
        inputs = example_inputs if example_inputs is not None else example_kwarg_inputs
        return trace_module(
            func,
            {"forward": inputs},
            optimize,
            check_trace,
            None if check_inputs is None else [{"forward": i} for i in check_inputs],
            check_tolerance,
            strict,
        )
    inputs = _inputs(example_inputs)
    name = getattr(func, "__name__", "forward")
    function = Function(unique(f"__torch__.{name if name.isidentifier() else 'forward'}"), [], None)
    _record(func, function, None, inputs, strict)
    made = ScriptFunction(function, func)
    for given in [inputs, *map(_inputs, check_inputs or ())] * check_trace:
        _compare(made, func, given, check_tolerance)
    return made


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
    owner = _class_of(mod)
    for name, given in inputs.items():
        function = Function(f"{owner.qualname}.{name}", [], None, owner=owner)
        _record(getattr(mod, name) if name != "forward" else mod, function, mod, _inputs(given), strict)
        owner.methods[name] = function
    made = _wrapped(mod, owner)
    for each in [inputs, *(check_inputs or ())] * check_trace:
        for name, given in each.items():
            kept = [(b, b.detach().clone()) for b in mod.buffers()]
            _compare(getattr(made, name), getattr(mod, name), _inputs(given), check_tolerance)
            with torch.no_grad():
                for buffer, before in kept:
                    buffer.copy_(before)
    return made


def _inputs(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def _record(call: Any, function: Function, module: Any, inputs: tuple[Any, ...], strict: bool) -> None:
    """Run `call` and write down what it does."""
    tracer = Tracer(function, module)
    if module is not None:
        function.arguments.append(("self", tracer.self.type, schemas.REQUIRED))
    names = _argument_names(call, module, len(inputs))
    given = [_argument(tracer, function, n, x) for n, x in zip(names, inputs, strict=True)]
    STACK.append(tracer)
    try:
        with tracer:
            found = call(*given)
    finally:
        STACK.pop()
    result = _result(tracer, found, strict)
    function.returns, function.finished = result.type, True
    function.block.finish([result])
    prune(function.block)


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
    prune(function.block)
    plain = _plain(found)
    extra = (inputs[0],) if return_inputs else ((inputs[0], state),) if _return_inputs_states else ()
    return Graph(function), plain, *extra


def _argument_names(call: Any, module: Any, count: int) -> list[str]:
    code = getattr(getattr(type(module), "forward", None) if module is not None else call, "__code__", None)
    names = list(code.co_varnames[: code.co_argcount])[module is not None :] if code else []
    return (names + [f"argument_{i}" for i in range(len(names), count)])[:count]


def _argument(tracer: Tracer, function: Function, name: str, x: Any) -> Any:
    """An input of the program: a tensor, or tuples, lists and dicts of tensors."""
    t = of_value(x)
    value = function.block.param(t, name)
    function.arguments.append((name, t, schemas.REQUIRED))
    if isinstance(x, dict):
        return {
            k: tracer.know(
                v,
                tracer.compiler.call_builtin(
                    "aten::__getitem__", [value, tracer.compiler.constant(_AT, k)], {}, _AT
                ),
            )
            for k, v in x.items()
        }
    return tracer.results(x, value)


def _result(tracer: Tracer, found: Any, strict: bool) -> Value:
    """What the program returns."""
    kind = type(found).__name__
    if strict and isinstance(found, (list, dict)):
        raise RuntimeError(
            f"Encountering a {kind} at the output of the tracer might cause the trace to be "
            f"incorrect, this "
            "is only valid if the container structure does not change based on the module's "
            "inputs. "
            "Consider using a constant container instead (e.g. for `list`, use a `tuple` "
            "instead. for "
            "`dict`, use a `NamedTuple` instead). If you absolutely need this and know the "
            "side effects, "
            "pass strict=False to trace() to allow this behavior."
        )
    compiler = tracer.compiler
    if isinstance(found, dict):
        flat = [v for k, x in found.items() for v in (compiler.constant(_AT, k), _result(tracer, x, strict))]
        return compiler.emit(
            _AT, "prim::DictConstruct", flat, Type("Dict", (flat[0].type, flat[1].type))
        ).output
    if isinstance(found, tuple):
        return compiler.value(Items([_result(tracer, x, strict) for x in found]), _AT)
    if isinstance(found, list):
        return compiler.list_value([_result(tracer, x, strict) for x in found], _AT, None)
    if not isinstance(found, torch.Tensor):
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output "
            "from traced "
            f"functions, got {kind}"
        )
    return tracer.value(found)


def _compare(made: Any, func: Any, inputs: tuple[Any, ...], tolerance: float) -> None:
    """Warn where the program and the Python do not give the same."""
    with torch.random.fork_rng():
        theirs = flatten(func(*inputs))[0]
    with torch.random.fork_rng():
        ours = flatten(made(*inputs))[0]
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        try:
            torch.testing.assert_close(a.double(), b.double(), rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError as error:
            warn(
                f"Output nr {i + 1}. of the traced function does not match the corresponding "
                f"output of the Python "
                f"function. Detailed error:\n{error}",
                TracerWarning,
            )


def _class_of(module: Any) -> ClassType:
    """A type of its own for a traced module: parameters, buffers and modules."""
    if isinstance(module, ScriptModule):
        return module._type
    owner = ClassType(unique(qualified(type(module))), True)
    for kind, table in (("parameter", module._parameters), ("buffer", module._buffers)):
        for name, value in table.items():
            owner.fields[name], owner.kinds[name] = (NONE if value is None else TENSOR), kind
    owner.fields["training"], owner.kinds["training"] = BOOL, "attribute"
    for name, child in module._modules.items():
        if child is not None:
            owner.fields[name], owner.kinds[name] = Type("Class", cls=_class_of(child)), "module"
    return owner


def _wrapped(module: Any, owner: ClassType) -> Any:
    values = {
        name: _wrapped(module._modules[name], owner.fields[name].cls)
        if owner.kinds[name] == "module"
        else getattr(module, name)
        for name in owner.fields
    }
    return instance(owner, values, TopLevelTracedModule)


__all__ = ["TracerWarning", "TracingCheckError", "_get_trace_graph", "trace", "trace_module"]
