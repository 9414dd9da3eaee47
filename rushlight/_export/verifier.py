"""torch._export.verifier: whether an exported program's graph, signature and state fit one another."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Iterable
from typing import Any, final

import rushlight as torch
from rushlight._engine.core.pytree import Tree
from rushlight._ops import HigherOrderOperator, OpOverload
from rushlight.export.signature import (
    ConstantArgument,
    InputKind,
    OutputKind,
    SymIntArgument,
    TensorArgument,
)
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import Node

__all__ = ["SpecViolationError", "TrainingIRVerifier", "Verifier", "is_functional", "load_verifier"]

_NUMBERS = (
    "getitem add mul sub truediv ge le gt lt eq ne floordiv mod and_ or_ not_ pow neg abs lshift rshift"
)
_KNOWN: dict[str, type[Verifier]] = {}


class SpecViolationError(Exception):
    """Something of a program is not as it must be."""


def is_functional(op: OpOverload) -> bool:
    """Whether an op writes into none of its inputs."""
    return not op._schema.is_mutable


def load_verifier(dialect: str) -> type[Verifier]:
    """The verifier of a dialect; KeyError for one that is not known, but "ATEN" always is."""
    return _KNOWN[dialect]


class Verifier:
    """Looks a program over. A subclass has a `dialect` of its own, and may allow more (allowed_...), or look
    at more (check_valid_op, check_additional); SyntaxError where it overrides `check`.
    """

    dialect = "ATEN"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "check" in cls.__dict__ or "_check_graph_module" in cls.__dict__:
            raise SyntaxError("Overriding method check is not allowed.")
        own = cls.__dict__.get("dialect")
        if own is None or own == "ATEN":
            raise AssertionError(f"subclass must define dialect != 'ATEN', got {own}")
        _KNOWN[own] = cls

    def allowed_builtin_ops(self) -> list[Any]:
        """Python's functions that nodes may call, of sizes."""
        own = [getattr(operator, name) for name in _NUMBERS.split()]
        return [*own, math.ceil, math.floor, math.trunc, round]

    def allowed_op_types(self) -> tuple[type[Any], ...]:
        """The types of what else nodes may call."""
        return (OpOverload, HigherOrderOperator)

    def allowed_getattr_types(self) -> tuple[type[Any], ...]:
        """The types of what nodes of the program's own graph may name."""
        return (GraphModule, Tree)

    def allowed_getattr_types_for_subgm(self) -> tuple[type[Any], ...]:
        """The same, of graphs of functions."""
        return (GraphModule, torch.Tensor, Tree)

    def check_valid_op(self, op: Any) -> None:
        """More that must be so of what a node calls."""

    def check_additional(self, gm: GraphModule) -> None:
        """More that must be so of a graph."""

    @final
    def check(self, ep: Any) -> None:
        """SpecViolationError where the program is not as it must be."""
        self._check_graph_module(ep.graph_module)
        _check_calls(ep)
        _check_inputs(ep)
        _check_outputs(ep)

    @final
    def _check_graph_module(self, gm: Any) -> None:
        for module in gm.modules():
            if not isinstance(module, GraphModule):
                continue
            module.graph.lint()
            held = self.allowed_getattr_types() if module is gm else self.allowed_getattr_types_for_subgm()
            for node in module.graph.nodes:
                self._check_node(module, node, held)
        self.check_additional(gm)

    def _check_node(self, module: GraphModule, node: Node, held: tuple[type[Any], ...]) -> None:
        if node.op in ("call_module", "call_method"):
            raise SpecViolationError(f"call_module is not valid: got a class '{node.target}' ")
        if node.op == "call_function":
            _check_value(node)
            self._check_op(node.target)
        elif node.op == "placeholder":
            _check_value(node)
        elif node.op == "get_attr":
            found = _named(module, node.target)
            if not isinstance(found, held):
                raise SpecViolationError(
                    f"Invalid get_attr type {type(found)} on target {node.target}. \n"
                    f"Valid get_attr types: {held}"
                )

    def _check_op(self, op: Any) -> None:
        allowed, builtin = self.allowed_op_types(), self.allowed_builtin_ops()
        if not all(inspect.isbuiltin(each) for each in builtin):
            raise AssertionError("allowed_builtin_ops must all be builtins")
        if not isinstance(op, allowed) and op not in builtin and op not in _functions():
            raise SpecViolationError(
                f"Operator '{op}' is not an allowed operator type: {allowed}\nValid builtin ops: {builtin}"
                f"Valid torch functions: {_functions()}"
            )
        if isinstance(op, OpOverload) and self.dialect != "TRAINING" and not is_functional(op):
            raise SpecViolationError(f"operator '{op}' is not functional")
        self.check_valid_op(op)


_KNOWN[Verifier.dialect] = Verifier


class TrainingIRVerifier(Verifier):
    """The verifier of what export() returns: ops may write into their inputs."""

    dialect = "TRAINING"


def _functions() -> tuple[Any, ...]:
    names = "sym_int sym_float sym_ite sym_max sym_min sym_not sym_sqrt sym_sum"
    return (torch.set_grad_enabled, *(getattr(torch, name) for name in names.split()))


def _named(module: Any, target: Any) -> Any:
    if not isinstance(target, str):
        raise SpecViolationError(f"Expected get_attr target to be string, but got {type(target)}")
    parts = target.split(".")
    for i, part in enumerate(parts):
        if not hasattr(module, part):
            raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[:i])}")
        module = getattr(module, part)
    return module


def _check_value(node: Node) -> None:
    """What a node is must be known, unless it calls what returns nothing."""
    if "val" not in node.meta:
        several = node.meta.get("results") is not None  # its items tell
        target = node.target
        if several or isinstance(target, HigherOrderOperator):
            return
        if node.op == "call_function" and isinstance(target, OpOverload) and not target._schema.returns:
            return
        raise SpecViolationError(f"Node.meta {node.name} is missing val field.")
    if not _is_value(node.meta["val"]):
        raise SpecViolationError(f"Node.meta {node.name} has invalid val field {node.meta['val']}")


def _is_value(value: Any) -> bool:
    plain = (
        int,
        bool,
        str,
        float,
        torch.Tensor,
        torch.dtype,
        torch.device,
        torch.layout,
        torch.memory_format,
    )
    if value is None or isinstance(value, plain) or hasattr(value, "expression") or hasattr(value, "shape"):
        return True
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return True
    return isinstance(value, Iterable) and all(map(_is_value, value))


def _check_calls(ep: Any) -> None:
    names = {node.name for node in ep.graph.nodes}
    for entry in ep.module_call_graph:
        if entry.signature is None:
            continue
        for what, arguments in (("Input", entry.signature.inputs), ("Output", entry.signature.outputs)):
            for argument in arguments:
                if argument.name and argument.name not in names:
                    raise SpecViolationError(f"{what} {argument.name} does not exist in the graph.")


def _check_inputs(ep: Any) -> None:
    specs = ep.graph_signature.input_specs
    nodes = [node.name for node in ep.graph.nodes if node.op == "placeholder"]
    if len(specs) != len(nodes):
        told = {spec.arg.name for spec in specs}
        raise SpecViolationError(
            f"Number of graph inputs ({len(nodes)}) does not match number of inputs in the graph signature "
            f"({len(specs)})\nPlaceholders missing input_specs: {[n for n in nodes if n not in told]}\n"
            f"Input_specs missing placeholders: {sorted(told - set(nodes))}"
        )
    for spec, node in zip(specs, nodes, strict=True):
        if isinstance(spec.arg, (TensorArgument, SymIntArgument)) and spec.arg.name != node:
            raise SpecViolationError(f"Input spec name {spec.arg.name} does not match node name {node}")
        if spec.kind in _STATE:
            _check_state(ep, spec)


_STATE = {
    InputKind.PARAMETER: "Parameter",
    InputKind.BUFFER: "Buffer",
    InputKind.CONSTANT_TENSOR: "Constant tensor",
}


def _check_state(ep: Any, spec: Any) -> None:
    """A parameter, buffer or constant is there, and where it must be."""
    what, name = _STATE[spec.kind], spec.target
    if not isinstance(spec.arg, TensorArgument):
        raise SpecViolationError(f"{what} {name} is not a tensor argument. Found {spec.arg} instead.")
    if name is None:
        raise SpecViolationError(f"InputSpec for {spec.arg.name} has no target.")
    if spec.kind is InputKind.CONSTANT_TENSOR:
        if name not in ep.constants:
            raise SpecViolationError(f"Constant tensor {name} is not in the constants dictionary.")
        return
    if spec.kind is InputKind.BUFFER:
        if spec.persistent is None:
            raise SpecViolationError(f"Buffer {name} is missing a persistence flag")
        if not spec.persistent and name in ep.state_dict:
            raise SpecViolationError(f"Non-persistent buffer {name} is in the state dict, it should not be.")
        if not spec.persistent:
            return
    if name not in ep.state_dict:
        raise SpecViolationError(f"{what} {name} is not in the state dict.")
    if spec.kind is InputKind.PARAMETER and not isinstance(ep.state_dict[name], torch.nn.Parameter):
        raise SpecViolationError(
            f"State dict entry for parameter {name} is not an instance of torch.nn.Parameter."
        )


_CHANGED = {
    OutputKind.BUFFER_MUTATION: ("Buffer output", InputKind.BUFFER, "buffer that is mutated"),
    OutputKind.PARAMETER_MUTATION: ("Parameter output", InputKind.PARAMETER, "parameter that is mutated"),
}


def _check_outputs(ep: Any) -> None:
    end = ep.graph.output_node()
    given = end.args[0] if isinstance(end.args[0], (tuple, list)) else (end.args[0],)
    names = [value.name if isinstance(value, Node) else None for value in given]
    specs = ep.graph_signature.output_specs
    if len(names) != len(specs):
        raise SpecViolationError(
            f"Number of output nodes {len(names)} is different Than the number of outputs specified by the "
            f"graph signature: \nNumber of mutated buffers: {len(ep.graph_signature.buffers_to_mutate)}. \n"
            f"Number of user outputs: {len(ep.graph_signature.user_outputs)}. \n"
        )
    state = {spec.target: spec.kind for spec in ep.graph_signature.input_specs}
    for spec, name in zip(specs, names, strict=True):
        if isinstance(spec.arg, ConstantArgument):
            continue
        if spec.kind is OutputKind.USER_INPUT_MUTATION:
            if spec.target not in ep.graph_signature.user_inputs:
                raise SpecViolationError(
                    f"User input output {name} is not in the correct order or is not found in the inputs: "
                    f"{ep.graph_signature.user_inputs}"
                )
        elif spec.kind in _CHANGED and state.get(spec.target) is not _CHANGED[spec.kind][1]:
            what, _, role = _CHANGED[spec.kind]
            raise SpecViolationError(f"{what} {name} does not point to a {role} that exists.")
        if spec.arg.name != name:
            raise SpecViolationError(f"Output spec name {spec.arg.name} does not match node name {name}")
