"""torch._export.serde.schema: what the JSON of an exported program's file consists of, as classes.

A class that derives from Union holds one of its fields: `create(field=value)` makes one, `type` says which.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any

SCHEMA_VERSION = (8, 20)
TREESPEC_VERSION = 1


class Union:
    """One of the class's fields, the others None."""

    _type: str

    @classmethod
    def create(cls, **given: Any) -> Any:
        """One with this field. AssertionError for another number of fields than one."""
        if len(given) != 1:
            raise AssertionError(f"expected exactly 1 kwarg, got {len(given)}")
        made = cls(**{**dict.fromkeys(f.name for f in fields(cls)), **given})  # type: ignore[arg-type]
        (made._type,) = given
        return made

    @property
    def type(self) -> str:
        """Which field it is. RuntimeError where `create` did not make it."""
        try:
            return self._type
        except AttributeError as error:
            raise RuntimeError(
                f"Please use {type(self).__name__}.create to instantiate the union type."
            ) from error

    @property
    def value(self) -> Any:
        """What that field is."""
        return getattr(self, self.type)

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if found is None and not name.startswith("_") and name not in ("type", "value", "create"):
            raise AttributeError(f"Field {name} is not set.")
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Union) and (self.type, self.value) == (other.type, other.value)

    def __hash__(self) -> int:
        return hash(self.type)

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.type}={self.value})"


_union = dataclass(repr=False, eq=False)


class ScalarType(IntEnum):
    """A dtype."""

    UNKNOWN = 0
    BYTE = 1
    CHAR = 2
    SHORT = 3
    INT = 4
    LONG = 5
    HALF = 6
    FLOAT = 7
    DOUBLE = 8
    COMPLEXHALF = 9
    COMPLEXFLOAT = 10
    COMPLEXDOUBLE = 11
    BOOL = 12
    BFLOAT16 = 13
    UINT16 = 28
    FLOAT8E4M3FN = 29
    FLOAT8E5M2 = 30
    FLOAT8E4M3FNUZ = 31
    FLOAT8E5M2FNUZ = 32
    FLOAT8E8M0FNU = 33
    UINT32 = 34
    UINT64 = 35


Layout = IntEnum(
    "Layout", "Unknown SparseCoo SparseCsr SparseCsc SparseBsr SparseBsc _mkldnn Strided", start=0
)
MemoryFormat = IntEnum(
    "MemoryFormat", "Unknown ContiguousFormat ChannelsLast ChannelsLast3d PreserveFormat", start=0
)
ArgumentKind = IntEnum("ArgumentKind", "UNKNOWN POSITIONAL KEYWORD", start=0)


@dataclass
class Device:
    """Where a tensor lies."""

    type: str
    index: int | None = None


@_union
class SymExprHint(Union):
    """What a size was when the program was recorded."""

    as_int: int
    as_bool: bool
    as_float: float


@dataclass
class SymExpr:
    """An expression of sizes, as SymPy spells it."""

    expr_str: str
    hint: SymExprHint | None = None


@_union
class SymInt(Union):
    """A size."""

    as_expr: SymExpr
    as_int: int


@_union
class SymFloat(Union):
    """A number made of sizes."""

    as_expr: SymExpr
    as_float: float


@_union
class SymBool(Union):
    """Whether something is so of sizes."""

    as_expr: SymExpr
    as_bool: bool


@dataclass
class TensorMeta:
    """What is known of a tensor."""

    dtype: ScalarType
    sizes: list[SymInt]
    requires_grad: bool
    device: Device
    strides: list[SymInt]
    storage_offset: SymInt
    layout: Layout


@_union
class SymIntArgument(Union):
    """A size, by its node's name or as it is."""

    as_name: str
    as_int: int


@_union
class SymFloatArgument(Union):
    """A number, by its node's name or as it is."""

    as_name: str
    as_float: float


@_union
class SymBoolArgument(Union):
    """True or False, by its node's name or as it is."""

    as_name: str
    as_bool: bool


@dataclass
class TensorArgument:
    """A tensor, by its node's name."""

    name: str


@dataclass
class TokenArgument:
    """A token, by its node's name."""

    name: str


@_union
class OptionalTensorArgument(Union):
    """A tensor or None."""

    as_tensor: TensorArgument
    as_none: bool


@dataclass
class GraphArgument:
    """A function's graph, and the name that it is held under."""

    name: str
    graph: Graph


@dataclass
class CustomObjArgument:
    """An object, by its node's name."""

    name: str
    class_fqn: str


@dataclass
class ComplexValue:
    """A complex number."""

    real: float
    imag: float


@_union
class Argument(Union):
    """An argument of a node, an input or an output of a graph."""

    as_none: bool
    as_tensor: TensorArgument
    as_tensors: list[TensorArgument]
    as_int: int
    as_ints: list[int]
    as_float: float
    as_floats: list[float]
    as_string: str
    as_strings: list[str]
    as_sym_int: SymIntArgument
    as_sym_ints: list[SymIntArgument]
    as_scalar_type: ScalarType
    as_memory_format: MemoryFormat
    as_layout: Layout
    as_device: Device
    as_bool: bool
    as_bools: list[bool]
    as_sym_bool: SymBoolArgument
    as_sym_bools: list[SymBoolArgument]
    as_graph: GraphArgument
    as_optional_tensors: list[OptionalTensorArgument]
    as_custom_obj: CustomObjArgument
    as_operator: str
    as_sym_float: SymFloatArgument
    as_sym_floats: list[SymFloatArgument]
    as_optional_tensor: OptionalTensorArgument
    as_complex: ComplexValue
    as_nested_tensors: list[list[TensorArgument]]
    as_int_lists: list[list[int]]
    as_string_to_argument: dict[str, Argument]
    as_float_lists: list[list[float]]


@dataclass
class NamedArgument:
    """An argument with its parameter's name."""

    name: str
    arg: Argument
    kind: ArgumentKind | None = None


@dataclass
class Node:
    """A call."""

    target: str
    inputs: list[NamedArgument]
    outputs: list[Argument]
    metadata: dict[str, str]
    is_hop_single_tensor_return: bool | None = None
    name: str | None = None


@dataclass
class Graph:
    """Calls, and what is known of their results."""

    inputs: list[Argument]
    outputs: list[Argument]
    nodes: list[Node]
    tensor_values: dict[str, TensorMeta]
    sym_int_values: dict[str, SymInt]
    sym_bool_values: dict[str, SymBool]
    is_single_tensor_return: bool = False
    custom_obj_values: dict[str, CustomObjArgument] = field(default_factory=dict)
    sym_float_values: dict[str, SymFloat] = field(default_factory=dict)


@dataclass
class UserInputSpec:
    """An input of the caller's."""

    arg: Argument


@_union
class ConstantValue(Union):
    """An input that is the same in every call."""

    as_none: bool
    as_int: int
    as_float: float
    as_string: str
    as_bool: bool


@dataclass
class InputToConstantInputSpec:
    """An input that is the same in every call, with its name."""

    name: str
    value: ConstantValue


@dataclass
class InputToParameterSpec:
    """A parameter."""

    arg: TensorArgument
    parameter_name: str


@dataclass
class InputToBufferSpec:
    """A buffer, and whether it is in the state dict."""

    arg: TensorArgument
    buffer_name: str
    persistent: bool


@dataclass
class InputToTensorConstantSpec:
    """A tensor that the program holds beside its state."""

    arg: TensorArgument
    tensor_constant_name: str


@dataclass
class InputToCustomObjSpec:
    """An object that the program holds."""

    arg: CustomObjArgument
    custom_obj_name: str


@dataclass
class InputTokenSpec:
    """A token, which orders side effects."""

    arg: TokenArgument


@_union
class InputSpec(Union):
    """What an input is."""

    user_input: UserInputSpec
    parameter: InputToParameterSpec
    buffer: InputToBufferSpec
    tensor_constant: InputToTensorConstantSpec
    custom_obj: InputToCustomObjSpec
    token: InputTokenSpec
    constant_input: InputToConstantInputSpec


@dataclass
class UserOutputSpec:
    """A result for the caller."""

    arg: Argument


@dataclass
class LossOutputSpec:
    """The loss."""

    arg: TensorArgument


@dataclass
class BufferMutationSpec:
    """What a buffer is afterwards."""

    arg: TensorArgument
    buffer_name: str


@dataclass
class ParameterMutationSpec:
    """What a parameter is afterwards."""

    arg: TensorArgument
    parameter_name: str


@dataclass
class GradientToParameterSpec:
    """A parameter's gradient."""

    arg: TensorArgument
    parameter_name: str


@dataclass
class GradientToUserInputSpec:
    """An input's gradient."""

    arg: TensorArgument
    user_input_name: str


@dataclass
class UserInputMutationSpec:
    """What an input is afterwards."""

    arg: TensorArgument
    user_input_name: str


@dataclass
class OutputTokenSpec:
    """A token, which orders side effects."""

    arg: TokenArgument


@_union
class OutputSpec(Union):
    """What an output is."""

    user_output: UserOutputSpec
    loss_output: LossOutputSpec
    buffer_mutation: BufferMutationSpec
    gradient_to_parameter: GradientToParameterSpec
    gradient_to_user_input: GradientToUserInputSpec
    user_input_mutation: UserInputMutationSpec
    token: OutputTokenSpec
    parameter_mutation: ParameterMutationSpec


@dataclass
class GraphSignature:
    """What the inputs and outputs are."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]


@dataclass
class RangeConstraint:
    """The bounds of a size."""

    min_val: int | None
    max_val: int | None


@dataclass
class ModuleCallSignature:
    """What a module was called with, and returned."""

    inputs: list[Argument]
    outputs: list[Argument]
    in_spec: str
    out_spec: str
    forward_arg_names: list[str] | None = None


@dataclass
class ModuleCallEntry:
    """A module that was called."""

    fqn: str
    signature: ModuleCallSignature | None = None


@dataclass
class NamedTupleDef:
    """The fields of a named tuple among inputs or outputs."""

    field_names: list[str]


@dataclass
class GraphModule:
    """The graph, and what its inputs and outputs are."""

    graph: Graph
    signature: GraphSignature
    module_call_graph: list[ModuleCallEntry]
    metadata: dict[str, str] = field(default_factory=dict)
    treespec_namedtuple_fields: dict[str, NamedTupleDef] = field(default_factory=dict)


@dataclass
class SchemaVersion:
    """The version of all this: another major number is another format."""

    major: int
    minor: int


@dataclass
class ExportedProgram:
    """The whole."""

    graph_module: GraphModule
    opset_version: dict[str, int]
    range_constraints: dict[str, RangeConstraint]
    schema_version: SchemaVersion
    verifiers: list[str] = field(default_factory=list)
    torch_version: str = "<=2.4"
    guards_code: list[str] = field(default_factory=list)


@dataclass
class PayloadMeta:
    """A tensor's bytes: the part of the archive, and what is known of the tensor."""

    path_name: str
    is_param: bool
    use_pickle: bool
    tensor_meta: TensorMeta | None


@dataclass
class PayloadConfig:
    """All of them, by name."""

    config: dict[str, PayloadMeta]
