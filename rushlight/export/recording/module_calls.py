"""The modules that a program was recorded in, and what those were called with of which that is to be kept."""

from __future__ import annotations

import copy
from typing import Any

from rushlight.export.listener import Listener
from rushlight.export.program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from rushlight.export.signature import ConstantArgument, argument_of
from rushlight.fx.node import Node


def module_calls(program: ExportedProgram, listener: Listener) -> list[ModuleCallEntry]:
    """The modules of a program, with what was noted of their calls."""
    held = set(program.graph.nodes)

    def told(value: Any) -> Any:
        if not isinstance(value, Node):
            return ConstantArgument("", value)
        return argument_of(value) if value in held else ConstantArgument("", None)

    calls = {
        name: ModuleCallSignature([*map(told, c.inputs)], [*map(told, c.outputs)], c.in_spec, c.out_spec)
        for name, c in listener.module_calls.items()
    }
    own = ModuleCallSignature([], [], program._in_spec, program._out_spec, list(program._forward_names))
    ordered = [name for name, _ in listener.root.named_modules(remove_duplicate=False) if name]
    names = dict.fromkeys([*ordered, *calls])
    return [ModuleCallEntry("", own), *(ModuleCallEntry(name, calls.get(name)) for name in names)]


def renamed(
    program: ExportedProgram, made: ExportedProgram, nodes: dict[str, Any]
) -> list[ModuleCallEntry] | None:
    """The modules of a program that was recorded again. nodes: what its nodes are now, by their names."""
    if program._calls is None:
        return None
    held = set(made.graph.nodes)

    def told(argument: Any) -> Any:
        node = nodes.get(argument.name)
        if isinstance(argument, ConstantArgument):
            return argument
        return argument_of(node) if node is not None and node in held else ConstantArgument("", None)

    found = []
    for entry in program._calls:
        own = copy.copy(entry.signature)
        if own is not None:
            own.inputs, own.outputs = [*map(told, own.inputs)], [*map(told, own.outputs)]
        found.append(ModuleCallEntry(entry.fqn, own))
    return found
