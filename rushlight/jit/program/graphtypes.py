"""The classes of types as PyTorch's C++ shows them, TensorType, ListType, ..., over the compiler's own."""

from __future__ import annotations

import builtins
import itertools
from dataclasses import replace
from typing import Any

import rushlight as torch
from rushlight.jit.program.graphtext import SCALARS, shown, tensor_text
from rushlight.jit.program.ir import Example
from rushlight.jit.program.types import TENSOR, Type as Plain, subtype


class Type:
    """A type; `example` says what a traced tensor was: its dtype, sizes, strides, device."""

    _plain: Plain | None = None

    def __init__(self, plain: Plain | None = None, example: Example | None = None) -> None:
        self._type = plain or self._plain or TENSOR
        self._example = example

    @classmethod
    def get(cls) -> Type:
        """The type itself, where it has no parts."""
        return cls()

    getInferred = get

    def kind(self) -> str:
        """TensorType, ListType, ..."""
        return _kind(self._type)

    def str(self) -> str:
        """As graphs write it."""
        if self._type == TENSOR and self._example is not None:
            return tensor_text(self._example)
        return shown(self._type)

    @property
    def annotation_str(self) -> Any:
        """As code writes it."""
        return str(self._type)

    def __str__(self) -> Any:
        return str(self._type)

    def __repr__(self) -> Any:
        return str(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Type) or self._type != other._type:
            return False
        return (self._example or Example()) == (other._example or Example())

    def __hash__(self) -> int:
        return hash(self._type)

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether a value of this type may stand for the other's."""
        return subtype(self._type, other._type)

    def containedTypes(self) -> list[Type]:
        """The types of the parts."""
        return [typed(part) for part in self._type.args]

    def getElementType(self) -> Type:
        """The type of a list's elements, or an optional's value."""
        return typed(self._type.args[0])

    def elements(self) -> list[Type]:
        """The types of a tuple's parts."""
        return self.containedTypes()

    def getKeyType(self) -> Type:
        """Of a dict."""
        return typed(self._type.args[0])

    def getValueType(self) -> Type:
        """Of a dict."""
        return typed(self._type.args[1])

    def qualified_name(self) -> Any:
        """A class's full name."""
        return str(self._type)

    def name(self) -> Any:
        """A class's name."""
        return str(self._type).rpartition(".")[2]

    def is_interface_type(self) -> bool:
        """Whether it is the type of an interface."""
        return self._type.kind == "Class" and bool(self._type.cls.is_interface)

    def _tensor(self, name: builtins.str) -> Example:
        if self._type != TENSOR:
            raise AttributeError(f"'{_kind(self._type)}' object has no attribute '{name}'")
        return self._example or Example()

    @classmethod
    def create_from_tensor(cls, tensor: torch.Tensor) -> Type:
        """The type of a tensor: its dtype, sizes, strides, device, and whether it requires a gradient."""
        known = Example(
            tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device, tensor.requires_grad
        )
        return cls(TENSOR, known)

    def with_sizes(self, sizes: Any) -> Type:
        """The type of tensors of these sizes; None, or a negative number, for a size that is not known."""
        known = None if sizes is None else tuple(new_symbol() if n is None else int(n) for n in sizes)
        return typed(self._type, replace(self._tensor("with_sizes"), sizes=known, strides=None))

    def with_dtype(self, dtype: Any) -> Type:
        """The type of tensors of this dtype."""
        return typed(self._type, replace(self._tensor("with_dtype"), dtype=dtype))

    def with_device(self, device: Any) -> Type:
        """The type of tensors on this device."""
        return typed(self._type, replace(self._tensor("with_device"), device=device))

    def contiguous(self) -> Type:
        """The type of such tensors whose elements lie one after the other."""
        known = self._tensor("contiguous")
        if known.sizes is None or min(known.sizes, default=0) < 0:
            return self
        strides = torch.empty(known.sizes, device="meta").stride()
        return typed(self._type, replace(known, strides=strides))

    def sizes(self) -> list[int] | None:
        """The sizes of a tensor; None where they are not all known."""
        known = self._tensor("sizes").sizes
        return None if known is None or min(known, default=0) < 0 else list(known)

    def varyingSizes(self) -> list[int | None] | None:
        """The sizes, None for those that are not known; None where not even their number is."""
        known = self._tensor("varyingSizes").sizes
        return None if known is None else [n if n >= 0 else None for n in known]

    def symbolic_sizes(self) -> list[int] | None:
        """The sizes, a negative number of its own for each that is not known."""
        known = self._tensor("symbolic_sizes").sizes
        return None if known is None else list(known)

    def strides(self) -> list[int] | None:
        """The strides of a tensor."""
        known = self._tensor("strides").strides
        return None if known is None else list(known)

    def dim(self) -> int | None:
        """The number of dims."""
        known = self._tensor("dim").sizes
        return None if known is None else len(known)

    def dtype(self) -> Any:
        """The dtype."""
        return self._tensor("dtype").dtype

    def scalarType(self) -> Any:
        """The dtype's name: Float, Long, ..."""
        return SCALARS.get(self._tensor("scalarType").dtype)

    def device(self) -> Any:
        """The device."""
        return self._tensor("device").device

    def requires_grad(self) -> bool:
        """Whether a gradient was recorded; True where nobody knows."""
        known = self._tensor("requires_grad").requires_grad
        return True if known is None else known

    def undefined(self) -> bool:
        """False: there is always a tensor."""
        return False


_symbols = itertools.count(2)


def new_symbol() -> int:
    """A negative number that stands for a size that is not known."""
    return -next(_symbols)


def _kind(plain: Plain) -> str:
    named = {"number": "NumberType", "str": "StringType", "Device": "DeviceObjType", "NoneType": "NoneType"}
    return named.get(plain.kind) or f"{plain.kind[0].upper()}{plain.kind[1:]}Type"


_PLAIN = "Tensor int float bool complex str NoneType Any number Device Generator".split()
TYPES: dict[str, type[Type]] = {
    _kind(Plain(name)): type(_kind(Plain(name)), (Type,), {"_plain": Plain(name), "__module__": "torch"})
    for name in _PLAIN
}


class InferredType:
    """The type of a value, or the reason why it has none."""

    def __init__(self, found: Type | builtins.str) -> None:
        self._found = found

    def success(self) -> bool:
        """Whether there is a type."""
        return isinstance(self._found, Type)

    def type(self) -> Type:
        """The type; RuntimeError where there is none."""
        if not isinstance(self._found, Type):
            raise RuntimeError(
                f"Tried to get the type from an InferredType but the type is null. Reason: {self._found}"
            )
        return self._found

    def reason(self) -> builtins.str:
        """Why there is none; empty where there is one."""
        return "" if isinstance(self._found, Type) else self._found


class ListType(Type):
    """The type of a list."""

    def __init__(self, element: Type | Plain) -> None:
        if element is None:
            raise RuntimeError("Can not create ListType with None type")
        super().__init__(element if isinstance(element, Plain) else Plain("List", (element._type,)))

    @staticmethod
    def ofInts() -> ListType:
        """int[]"""
        return ListType(TYPES["IntType"]())

    @staticmethod
    def ofTensors() -> ListType:
        """Tensor[]"""
        return ListType(TYPES["TensorType"]())

    @staticmethod
    def ofFloats() -> ListType:
        """float[]"""
        return ListType(TYPES["FloatType"]())

    @staticmethod
    def ofBools() -> ListType:
        """bool[]"""
        return ListType(TYPES["BoolType"]())


class OptionalType(Type):
    """The type of what may be None."""

    def __init__(self, element: Type | Plain) -> None:
        super().__init__(element if isinstance(element, Plain) else Plain("Optional", (element._type,)))

    @staticmethod
    def ofTensor() -> OptionalType:
        """Tensor?"""
        return OptionalType(TYPES["TensorType"]())


class TupleType(Type):
    """The type of a tuple."""

    def __init__(self, elements: Any) -> None:
        plain = elements if isinstance(elements, Plain) else Plain("Tuple", tuple(e._type for e in elements))
        super().__init__(plain)


class DictType(Type):
    """The type of a dict."""

    def __init__(self, key: Type | Plain, value: Any = None) -> None:
        super().__init__(key if isinstance(key, Plain) else Plain("Dict", (key._type, value._type)))


class ClassType(Type):
    """The type of a scripted class or module."""


for _own in (ListType, OptionalType, TupleType, DictType, ClassType):
    _own.__module__ = "torch"
    TYPES[_own.__name__] = _own


def typed(plain: Plain, example: Example | None = None) -> Type:
    """The object of a type."""
    cls = TYPES.get(_kind(plain), Type)
    made = Type.__new__(cls)
    Type.__init__(made, plain, example)
    return made
