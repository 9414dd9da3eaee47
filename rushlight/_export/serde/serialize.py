"""torch._export.serde.serialize: an exported program as bytes, or as objects of schema.py, and back.

torch.export.save writes the same description into an archive.
"""

from __future__ import annotations

import copy
import io
import json
import math
import typing
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any

import rushlight as torch
from rushlight._export.serde import schema
from rushlight.export.files import arguments
from rushlight.export.files.reading import program_of
from rushlight.export.files.writing import model
from rushlight.export.program import ExportedProgram

__all__ = [
    "ExportedProgramDeserializer",
    "ExportedProgramSerializer",
    "GraphModuleSerializer",
    "SerializeError",
    "SerializedArtifact",
    "canonicalize",
    "deserialize",
    "deserialize_torch_artifact",
    "serialize",
    "serialize_torch_artifact",
]


class SerializeError(RuntimeError):
    """A program, or what is said to be one, that files cannot hold."""


@dataclass
class SerializedArtifact:
    """A program as bytes: its description (JSON), its state, its other tensors, its example inputs."""

    exported_program: bytes
    state_dict: bytes
    constants: bytes
    example_inputs: bytes


@dataclass
class _SerializedProgram:
    """The same, whose description is an object of schema.py."""

    exported_program: schema.ExportedProgram
    state_dict: bytes
    constants: bytes
    example_inputs: bytes


def serialize_torch_artifact(artifact: Any, pickle_protocol: int = 2) -> bytes:
    """What torch.save writes of it; nothing of None."""
    if artifact is None:
        return b""
    buffer = io.BytesIO()
    torch.save(artifact, buffer, pickle_protocol=pickle_protocol)
    return buffer.getvalue()


def deserialize_torch_artifact(serialized: Any) -> Any:
    """What serialize_torch_artifact wrote; a dict or a tuple as it is, an empty dict of nothing."""
    if isinstance(serialized, (dict, tuple)):
        return serialized
    return torch.load(io.BytesIO(serialized), weights_only=True) if serialized else {}


# --- objects and plain data ------------------------------------------------------------------------


def _dataclass_to_dict(obj: Any) -> Any:
    """Objects as dicts, lists and numbers; floats that JSON lacks as words."""
    if isinstance(obj, schema.Union):
        return {str(obj.type): _dataclass_to_dict(obj.value)}
    if is_dataclass(obj):
        return {f.name: _dataclass_to_dict(getattr(obj, f.name, None)) for f in fields(obj)}
    if isinstance(obj, (list, tuple)):
        return [_dataclass_to_dict(item) for item in obj]
    if isinstance(obj, dict):
        return {key: _dataclass_to_dict(item) for key, item in obj.items()}
    if isinstance(obj, float) and not math.isfinite(obj):
        return "NaN" if math.isnan(obj) else "Infinity" if obj > 0 else "-Infinity"
    return obj.value if isinstance(obj, Enum) else obj


def _dict_to_dataclass(cls: Any, data: Any) -> Any:
    """An object of a class of schema.py, of dicts and lists; fields that it does not know are left out."""
    if isinstance(cls, UnionType):
        (cls,) = (kind for kind in typing.get_args(cls) if kind is not NoneType)
        return None if data is None else _dict_to_dataclass(cls, data)
    origin = typing.get_origin(cls)
    if origin is list:
        return [_dict_to_dataclass(typing.get_args(cls)[0], item) for item in data]
    if origin is dict:
        return {key: _dict_to_dataclass(typing.get_args(cls)[1], item) for key, item in data.items()}
    if isinstance(cls, type) and issubclass(cls, schema.Union):
        ((name, value),) = data.items()
        return cls.create(**{name: _dict_to_dataclass(_hints(cls)[name], value)})
    if is_dataclass(cls):
        hints = _hints(cls)
        given = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        return cls(**{k: _dict_to_dataclass(hints[k], v) for k, v in given.items()})  # type: ignore[operator]
    if cls is float and isinstance(data, (str, int)):
        return float(data)
    return cls(data) if isinstance(cls, type) and issubclass(cls, Enum) else data


def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _to_json_bytes(obj: Any) -> bytes:
    """An object of schema.py as JSON."""
    return json.dumps(_dataclass_to_dict(obj), allow_nan=False).encode()


_FLOATS = ("as_float", "as_floats")


def _floats(data: Any) -> Any:
    """Numbers, of which JSON has some as words: "Infinity"."""
    if isinstance(data, list):
        return [_floats(item) for item in data]
    return float(data) if isinstance(data, str) else data


def _from_json(data: Any) -> Any:
    """Plain data with the floats that JSON lacks, as `argument_of` takes them."""
    if isinstance(data, list):
        return [_from_json(item) for item in data]
    if isinstance(data, dict):
        return {key: _floats(item) if key in _FLOATS else _from_json(item) for key, item in data.items()}
    return data


# --- programs --------------------------------------------------------------------------------------


class GraphModuleSerializer:
    """Tells arguments and results of nodes as objects of schema.py."""

    def __init__(self, graph_signature: Any, module_call_graph: Any) -> None:
        self.graph_signature, self.module_call_graph = graph_signature, module_call_graph

    def serialize_input(self, arg: Any) -> schema.Argument:
        """One argument."""
        sized = isinstance(arg, (list, tuple)) and any(isinstance(n, torch.SymInt) for n in arg)
        if sized:
            told: Any = {
                "as_sym_ints": [
                    {"as_name": str(n)} if isinstance(n, torch.SymInt) else {"as_int": n} for n in arg
                ]
            }
        else:
            told = arguments.argument(arg)
        found: schema.Argument = _dict_to_dataclass(schema.Argument, told)
        return found

    def serialize_inputs(self, target: Any, args: Any, kwargs: Any = None) -> list[schema.NamedArgument]:
        """The arguments of a call, with their parameters' names."""
        names = [p.name for p in target._schema.arguments]
        given = [(1, *pair) for pair in zip(names, args, strict=False)]
        given += [(2, *pair) for pair in (kwargs or {}).items()]
        return [
            schema.NamedArgument(name, self.serialize_input(value), schema.ArgumentKind(kind))
            for kind, name, value in given
        ]


class ExportedProgramSerializer:
    """Programs as objects. opset_version: versions of the namespaces of ops, which are noted."""

    def __init__(self, opset_version: dict[str, int] | None = None, pickle_protocol: int = 2) -> None:
        self.opset_version = {"aten": 10, **(opset_version or {})}
        self.pickle_protocol = pickle_protocol

    def serialize(self, exported_program: ExportedProgram) -> _SerializedProgram:
        """The program as objects and bytes. SerializeError for what files cannot hold."""
        exported_program.validate()
        try:
            told = model(exported_program, self.opset_version)
        except TypeError as error:
            raise SerializeError(f"Failed serializing the program: {error}") from error
        saved = [
            serialize_torch_artifact(part, self.pickle_protocol)
            for part in (
                exported_program.state_dict,
                exported_program.constants,
                exported_program.example_inputs,
            )
        ]
        return _SerializedProgram(_dict_to_dataclass(schema.ExportedProgram, told), *saved)


class ExportedProgramDeserializer:
    """Programs of objects. expected_opset_version: taken for PyTorch's sake."""

    def __init__(self, expected_opset_version: dict[str, int] | None = None) -> None:
        self.expected_opset_version = {"aten": 10, **(expected_opset_version or {})}

    def deserialize(
        self,
        exported_program: schema.ExportedProgram,
        state_dict: Any,
        constants: Any,
        example_inputs: Any = None,
        *,
        _unsafe_skip_version_check: bool = False,
    ) -> ExportedProgram:
        """The program of objects and bytes. SerializeError for one of another version."""
        version = exported_program.schema_version
        if version.major != schema.SCHEMA_VERSION[0] and not _unsafe_skip_version_check:
            raise SerializeError(
                f"Serialized schema version {version} does not match our current schema version "
                f"{schema.SCHEMA_VERSION}."
            )
        told = _from_json(_dataclass_to_dict(exported_program))
        sample = deserialize_torch_artifact(example_inputs) if example_inputs else None
        state, held = deserialize_torch_artifact(state_dict), deserialize_torch_artifact(constants)
        return program_of(told, state, held, sample)


def serialize(
    exported_program: ExportedProgram, opset_version: dict[str, int] | None = None, pickle_protocol: int = 2
) -> SerializedArtifact:
    """The program as bytes."""
    found = ExportedProgramSerializer(opset_version, pickle_protocol).serialize(exported_program)
    described = _to_json_bytes(found.exported_program)
    return SerializedArtifact(described, found.state_dict, found.constants, found.example_inputs)


def deserialize(
    artifact: SerializedArtifact,
    expected_opset_version: dict[str, int] | None = None,
    *,
    _unsafe_skip_version_check: bool = False,
) -> ExportedProgram:
    """The program that `serialize` told."""
    told = _dict_to_dataclass(schema.ExportedProgram, json.loads(artifact.exported_program))
    return ExportedProgramDeserializer(expected_opset_version).deserialize(
        told,
        artifact.state_dict,
        artifact.constants,
        artifact.example_inputs,
        _unsafe_skip_version_check=_unsafe_skip_version_check,
    )


# --- one of all descriptions of a program ----------------------------------------------------------


def canonicalize(ep: schema.ExportedProgram, constants: set[str] | None = None) -> schema.ExportedProgram:
    """The description with its values renamed in the order in which nodes make them, and names in order."""
    made = copy.deepcopy(ep)
    graph = made.graph_module.graph
    names: dict[str, str] = {}
    for told in (*graph.inputs, *(out for node in graph.nodes for out in node.outputs)):
        for name in _names(told):
            names.setdefault(name, f"_{len(names)}")
    renamed = _renamed(_dataclass_to_dict(made), names)
    inner = renamed["graph_module"]["graph"]
    for key in ("tensor_values", "sym_int_values", "sym_bool_values", "sym_float_values"):
        inner[key] = dict(sorted((names.get(name, name), value) for name, value in inner[key].items()))
    renamed["range_constraints"] = dict(sorted(renamed["range_constraints"].items()))
    found: schema.ExportedProgram = _dict_to_dataclass(schema.ExportedProgram, renamed)
    return found


def _names(told: schema.Argument) -> list[str]:
    """The names of the values that an argument is."""
    value = told.value
    several = value if isinstance(value, list) else [value]
    return [n for v in several if (n := getattr(v, "name", None) or getattr(v, "as_name", None)) is not None]


def _renamed(data: Any, names: dict[str, str]) -> Any:
    if isinstance(data, list):
        return [_renamed(item, names) for item in data]
    if not isinstance(data, dict):
        return data
    return {
        key: names.get(item, item)
        if key in ("as_name", "name") and isinstance(item, str) and _is_value(data)
        else _renamed(item, names)
        for key, item in data.items()
    }


def _is_value(data: dict[str, Any]) -> bool:
    """Whether a dict that has a name tells a value by it; arguments and nodes have names of their own."""
    return "arg" not in data and "target" not in data and "graph" not in data
