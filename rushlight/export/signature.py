"""torch.export.graph_signature: what an exported program's inputs and outputs are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import rushlight as torch
from rushlight.export.numbers.symbolic import SIZES, SYMBOLIC, SymBool, SymFloat
from rushlight.fx.node import Node


@dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclass
class SymIntArgument:
    """A size, by the name of its node."""

    name: str


@dataclass
class SymFloatArgument:
    """A float that depends on inputs, by the name of its node."""

    name: str


@dataclass
class SymBoolArgument:
    """A condition that depends on inputs, by the name of its node."""

    name: str


@dataclass
class TokenArgument:
    """What orders side effects, by the name of its node."""

    name: str


@dataclass
class CustomObjArgument:
    """An object that is no tensor, by the name of its node, and the name of its class."""

    name: str
    class_fqn: str
    fake_val: Any = None


@dataclass
class ConstantArgument:
    """A number or word that is the same in every call."""

    name: str
    value: Any


class InputKind(Enum):
    """What an input is."""

    USER_INPUT, PARAMETER, BUFFER, CONSTANT_TENSOR, CUSTOM_OBJ, TOKEN = range(1, 7)


class OutputKind(Enum):
    """What an output is."""

    USER_OUTPUT, LOSS_OUTPUT, BUFFER_MUTATION, PARAMETER_MUTATION = range(1, 5)
    GRADIENT_TO_PARAMETER, GRADIENT_TO_USER_INPUT, USER_INPUT_MUTATION, TOKEN = range(5, 9)


@dataclass
class InputSpec:
    """An input: its kind, its node, the name of the state that it is, whether that is in the state dict."""

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        kept = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{kept}"


@dataclass
class OutputSpec:
    """An output: its kind, its node, the name of the state that it changes."""

    kind: OutputKind
    arg: Any
    target: str | None

    def __str__(self) -> str:
        return f"{self.arg.name}: {self.kind.name}" + (
            "" if self.target is None else f" target='{self.target}'"
        )


# What a program's function may give, in containers that pytrees know.
_GIVEN = (torch.Tensor, *SYMBOLIC, int, str, float, bool, type(None))


def check_outputs(leaves: list[Any]) -> None:
    """RuntimeError for a result that no graph can give: what it holds would be the recorded call's."""
    wrong = next((v for v in leaves if not isinstance(v, _GIVEN)), None)
    if wrong is not None:
        raise RuntimeError(
            f"Found {type(wrong)} in output, which is not a known type. If this type holds tensors, you need "
            "to register a pytree for it, as torch.utils._pytree.register_pytree_node does."
        )


def user_output(value: Any) -> OutputSpec:
    """A result for the caller: a node, or what is the same in every call."""
    if not isinstance(value, Node):
        return OutputSpec(OutputKind.USER_OUTPUT, ConstantArgument("", value), None)
    return OutputSpec(OutputKind.USER_OUTPUT, argument_of(value), None)


def argument_of(node: Node) -> Any:
    """A node as an argument, of the kind that its value is."""
    value = node.meta.get("val")
    if isinstance(value, SymBool):
        return SymBoolArgument(node.name)
    if isinstance(value, SymFloat):
        return SymFloatArgument(node.name)
    if isinstance(value, SIZES):
        kinds: dict[str, Any] = {"float": SymFloatArgument, "bool": SymBoolArgument}
        return kinds.get(getattr(value, "kind", "int"), SymIntArgument)(node.name)
    return TensorArgument(node.name)


def _states(kind: InputKind) -> Any:
    """A property: names of inputs, and of the state that they are."""
    return property(lambda self: {s.arg.name: s.target for s in self.input_specs if s.kind is kind})


def _targets(kind: InputKind, *persistent: bool) -> Any:
    """A property: the names of the state of a kind."""
    return property(
        lambda self: tuple(
            s.target
            for s in self.input_specs
            if s.kind is kind and (not persistent or s.persistent in persistent)
        )
    )


def _changed(kind: OutputKind) -> Any:
    """A property: names of outputs, and of what they are the new values of."""
    return property(lambda self: {s.arg.name: s.target for s in self.output_specs if s.kind is kind})


def _value(arg: Any) -> Any:
    return arg.value if isinstance(arg, ConstantArgument) else arg.name


@dataclass
class ExportBackwardSignature:
    """Of a program with its backward pass: gradients' outputs by what they are of, and the loss."""

    gradients_to_parameters: dict[str, str]
    gradients_to_user_inputs: dict[str, str]
    loss_output: str


@dataclass
class ExportGraphSignature:
    """The inputs and outputs of an exported program's graph, in order; the names of each kind."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    inputs_to_parameters = _states(InputKind.PARAMETER)
    inputs_to_buffers = _states(InputKind.BUFFER)
    inputs_to_lifted_tensor_constants = _states(InputKind.CONSTANT_TENSOR)
    parameters = _targets(InputKind.PARAMETER)
    buffers = _targets(InputKind.BUFFER)
    non_persistent_buffers = _targets(InputKind.BUFFER, False)
    lifted_tensor_constants = _targets(InputKind.CONSTANT_TENSOR)
    buffers_to_mutate = _changed(OutputKind.BUFFER_MUTATION)
    parameters_to_mutate = _changed(OutputKind.PARAMETER_MUTATION)
    user_inputs_to_mutate = _changed(OutputKind.USER_INPUT_MUTATION)
    _of_parameters = _changed(OutputKind.GRADIENT_TO_PARAMETER)
    _of_user_inputs = _changed(OutputKind.GRADIENT_TO_USER_INPUT)

    @property
    def backward_signature(self) -> ExportBackwardSignature | None:
        """Of a program that has its backward pass in it, as _export_forward_backward gives; else None."""
        loss = next((s.arg.name for s in self.output_specs if s.kind is OutputKind.LOSS_OUTPUT), None)
        if loss is None:
            return None
        return ExportBackwardSignature(self._of_parameters, self._of_user_inputs, loss)

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The names of the caller's inputs; the values of those that are constant."""
        return tuple(_value(s.arg) for s in self.input_specs if s.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The names of the results; the values of those that are constant."""
        return tuple(_value(s.arg) for s in self.output_specs if s.kind is OutputKind.USER_OUTPUT)

    def replace_all_uses(self, old: str, new: str) -> None:
        """Another node's name in the place of one that is an output."""
        for spec in self.output_specs:
            if not isinstance(spec.arg, ConstantArgument) and spec.arg.name == old:
                spec.arg.name = new

    def get_replace_hook(self, replace_inputs: bool = False) -> Any:
        """What a GraphModule is to call (`_set_replace_hook`), so that the signature follows its changes."""

        def replaced(old: Any, new: str, user: Any) -> None:
            if user.op == "output":
                self.replace_all_uses(old.name, new)
            if replace_inputs and old.op == "placeholder":
                for spec in self.input_specs:
                    if spec.arg.name == old.name:
                        spec.arg.name = new

        return replaced

    def __str__(self) -> str:
        inputs, outputs = "\n".join(map(str, self.input_specs)), "\n".join(map(str, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"
