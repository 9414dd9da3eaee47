"""torch.export.graph_signature: what an exported program's inputs and outputs are."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any


@dataclass
class TensorArgument:
    """A tensor, by the name of its node."""

    name: str


@dataclass
class SymIntArgument:
    """A size, by the name of its node."""

    name: str


@dataclass
class ConstantArgument:
    """A number or word that is the same in every call."""

    name: str
    value: Any


class InputKind(Enum):
    """What an input is."""

    USER_INPUT = auto()
    PARAMETER = auto()
    BUFFER = auto()
    CONSTANT_TENSOR = auto()
    CUSTOM_OBJ = auto()
    TOKEN = auto()


class OutputKind(Enum):
    """What an output is."""

    USER_OUTPUT = auto()
    LOSS_OUTPUT = auto()
    BUFFER_MUTATION = auto()
    PARAMETER_MUTATION = auto()
    GRADIENT_TO_PARAMETER = auto()
    GRADIENT_TO_USER_INPUT = auto()
    USER_INPUT_MUTATION = auto()
    TOKEN = auto()


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
        return f"{self.arg.name}: {self.kind.name}" + ("" if self.target is None
                                                       else f" target='{self.target}'")


@dataclass
class ExportGraphSignature:
    """The inputs and outputs of an exported program's graph, in order."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _inputs(self, kind: InputKind, persistent: bool | None = None) -> dict[str, Any]:
        return {s.arg.name: s.target for s in self.input_specs
                if s.kind is kind and (persistent is None or s.persistent is persistent)}

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """Names of inputs, and of the parameters that they are."""
        return self._inputs(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """Names of inputs, and of the buffers that they are."""
        return self._inputs(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """Names of inputs, and of the constants that they are."""
        return self._inputs(InputKind.CONSTANT_TENSOR)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters' names."""
        return tuple(self.inputs_to_parameters.values())

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffers' names."""
        return tuple(self.inputs_to_buffers.values())

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of the buffers that are in no state dict."""
        return tuple(self._inputs(InputKind.BUFFER, False).values())

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The constants' names."""
        return tuple(self.inputs_to_lifted_tensor_constants.values())

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The names of the caller's inputs; the values of those that are constant."""
        return tuple(s.arg.value if isinstance(s.arg, ConstantArgument) else s.arg.name
                     for s in self.input_specs if s.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The names of the results; the values of those that are constant."""
        return tuple(s.arg.value if isinstance(s.arg, ConstantArgument) else s.arg.name
                     for s in self.output_specs if s.kind is OutputKind.USER_OUTPUT)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str | None]:
        """Names of outputs that are buffers' new values, and the buffers' names."""
        return {s.arg.name: s.target for s in self.output_specs if s.kind is OutputKind.BUFFER_MUTATION}

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str | None]:
        """Names of outputs that are inputs' new values, and the inputs' names."""
        return {s.arg.name: s.target for s in self.output_specs if s.kind is OutputKind.USER_INPUT_MUTATION}

    def __str__(self) -> str:
        lines = ["", "# inputs", *map(str, self.input_specs), "", "# outputs", *map(str, self.output_specs),
                 ""]
        return "\n".join(lines)
