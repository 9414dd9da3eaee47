"""PyTorch's passes over graphs that programs call by name (torch._C._jit_pass_inline(graph), ...)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight.jit.compiler.names import unique
from rushlight.jit.freezing import optimizations
from rushlight.jit.freezing.module import frozen, simplify
from rushlight.jit.handles import ModuleHandle
from rushlight.jit.modules import ScriptFunction
from rushlight.jit.program import schema as schemas
from rushlight.jit.program.graphs import Graph
from rushlight.jit.program.ir import Function, Node, inlined, walk
from rushlight.jit.program.memory import sweep
from rushlight.jit.program.tidy import tidy
from rushlight.jit.program.types import Type


def dce(graph: Graph) -> None:
    """Take out what has no effect and whose results nobody reads."""
    sweep(graph._function.block)
    graph.changed(graph._function)


def inline(graph: Graph) -> None:
    """Write what functions and methods do in the place of their calls."""
    graph.changed(inlined(graph._function))


def canonicalize(graph: Graph, keep_unique_names: bool = True) -> Graph:
    """Another graph of the same program, whose values are numbered from the start."""
    made = graph.copy()
    kept = made._function.block.params if keep_unique_names else []
    for value in _all_values(made._function.block):
        if value not in kept and (value.name.isdigit() or not keep_unique_names):
            value.name = ""
    return made


def _all_values(block: Any) -> list[Any]:
    return [*block.params, *(v for node in walk(block) for v in _given_by(node))]


def _given_by(node: Node) -> list[Any]:
    return [*node.outputs, *(v for inner in node.blocks for v in inner.params)]


def erase_shape_information(graph: Graph) -> None:
    """Forget what the tensors of a trace were."""
    for value in graph._function.block.params:
        value.example = None
    for node in walk(graph._function.block):
        for value in node.outputs:
            value.example = None
    graph.changed(graph._function)


def constant_pooling(graph: Graph) -> None:
    """One constant for all that are equal."""
    tidy(graph._function.block)
    graph.changed(graph._function)


def freeze_module(
    module: ModuleHandle,
    preservedAttrs: Sequence[str] = (),
    freezeInterfaces: bool = True,
    preserveParameters: bool = False,
) -> ModuleHandle:
    """A frozen copy of a module."""
    return ModuleHandle(frozen(module._module, preservedAttrs, freezeInterfaces, preserveParameters))


def over(change: Callable[[Any], None]) -> Callable[..., None]:
    """A pass that changes a program's block in place; of a module, those of all its methods."""

    def run(given: Any, *options: Any) -> None:
        if not isinstance(given, ModuleHandle):
            change(given._function.block)
            given.changed(given._function)
            return
        for function in functions_of(given):
            change(function.block)
            function.run = function.graph = None

    return run


def remove_dropout(given: Any) -> None:
    """Take dropout out of a graph, or of a module in evaluation mode."""
    if isinstance(given, ModuleHandle) and given._module.training:
        raise RuntimeError("Dropout removal module in training mode is not yet supported")
    over(optimizations.remove_dropout)(given)


def as_it_is(block: Any) -> None:
    """Change nothing."""


def constant_propagation(graph: Graph) -> bool:
    """Compute what is known before the program runs."""
    simplify(graph._function.block)
    graph.changed(graph._function)
    return True


def function_of(name: str, graph: Graph) -> ScriptFunction:
    """A function that runs a graph."""
    copied = inlined(graph._function, calls=False)
    made = Function(unique(f"__torch__.{name}"), [], None, copied.block)
    for i, value in enumerate(copied.block.params):
        made.arguments.append((value.hint or f"argument_{i}", value.type, schemas.REQUIRED))
    if len(made.block.ending.inputs) != 1:
        results, made.block.ending = made.block.ending.inputs, Node("prim::Return", [])
        for value in results:
            value.uses = [use for use in value.uses if use[0].kind != "prim::Return"]
        kind = Type("Tuple", tuple(v.type for v in results))
        made.block.finish([made.block.add("prim::TupleConstruct", results, [kind]).output])
    made.returns, made.finished = copied.block.ending.inputs[0].type, True
    return ScriptFunction(made)


def interpret(graph: Graph, inputs: Sequence[Any]) -> Any:
    """What a graph gives for these inputs."""
    return function_of("interpreted", graph)(*inputs)


def operation(kind: str) -> tuple[Any, list[str] | None]:
    """An op by its name, "aten::add", and what its overloads are called; those of PyTorch's tensors first;
    None, None of no op.
    """
    space, _, name = kind.partition("::")
    found = [schema.overload or "" for schema in schemas.named(kind)]
    if not found:
        return None, None
    op = getattr(getattr(torch.ops, space), name, None)
    known = [] if op is None or not hasattr(op, "overloads") else op.overloads()
    return op, sorted(found, key=lambda overload: (overload or "default") not in known)


def functions_of(module: Any) -> list[Function]:
    """All methods of a scripted module and of the modules in it."""
    top = getattr(module, "_module", module)
    return [f for part in top.modules() for f in part._type.methods.values() if f is not None]
