"""dtypes: PyTorch's names, sizes and categories over NumPy's and ml_dtypes' element types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from rushlight._engine.core.recording import switched
from rushlight._engine.lazy import package

# Promotion order of the categories: a tensor of a higher one decides the result's dtype.
BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)
_CATEGORY = {"b": BOOL, "i": INTEGRAL, "u": INTEGRAL, "f": FLOATING, "c": COMPLEX, "V": FLOATING}  # ml_dtypes


class dtype:
    """An element type. Compare by identity; `name` is PyTorch's, `np` the NumPy dtype behind it."""

    __module__ = package()
    __slots__ = (
        "name",
        "np",
        "itemsize",
        "category",
        "is_floating_point",
        "is_complex",
        "is_signed",
        "legacy",
        "c_name",
        "__weakref__",
    )

    def __init__(self, name: str, np_type: Any, legacy: str, c_name: str = "") -> None:
        self.name, self.np, self.legacy = name, np.dtype(np_type), legacy
        self.c_name = c_name or f"c10::{legacy}"
        self.itemsize: int = self.np.itemsize
        self.category: int = _CATEGORY[self.np.kind]
        self.is_floating_point = self.category == FLOATING
        self.is_complex = self.category == COMPLEX
        self.is_signed = self.category >= FLOATING or self.np.kind == "i"

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # of a global of the package

    def to_real(self) -> dtype:
        """The dtype of a complex dtype's parts; itself when real."""
        return {"complex32": float16, "complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self) -> dtype:
        """The complex dtype with parts of this precision."""
        return complex128 if self.name in ("float64", "complex128") else complex64


float32 = dtype("float32", np.float32, "Float", "float")
float64 = dtype("float64", np.float64, "Double", "double")
float16 = dtype("float16", np.float16, "Half")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, "BFloat16")
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, "Float8_e4m3fn")
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, "Float8_e5m2")
float8_e4m3fnuz = dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, "Float8_e4m3fnuz")
float8_e5m2fnuz = dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, "Float8_e5m2fnuz")
complex64 = dtype("complex64", np.complex64, "ComplexFloat", "c10::complex<float>")
complex128 = dtype("complex128", np.complex128, "ComplexDouble", "c10::complex<double>")
uint8 = dtype("uint8", np.uint8, "Byte", "unsigned char")
int8 = dtype("int8", np.int8, "Char", "signed char")
int16 = dtype("int16", np.int16, "Short", "short int")
int32 = dtype("int32", np.int32, "Int", "int")
int64 = dtype("int64", np.int64, "Long", "long int")
uint16 = dtype("uint16", np.uint16, "UInt16", "short unsigned int")
uint32 = dtype("uint32", np.uint32, "UInt32", "unsigned int")
uint64 = dtype("uint64", np.uint64, "UInt64", "long unsigned int")
bool_ = dtype("bool", np.bool_, "Bool", "bool")

ALL: tuple[dtype, ...] = tuple(d for d in list(globals().values()) if isinstance(d, dtype))
BY_NAME: dict[str, dtype] = {d.name: d for d in ALL}
ALIASES: dict[str, dtype] = {
    "float": float32,
    "double": float64,
    "half": float16,
    "short": int16,
    "int": int32,
    "long": int64,
    "cfloat": complex64,
    "cdouble": complex128,
}


class BareDtype(dtype):
    """A dtype that is there to be named, compared and looked up: there are no plain tensors of it."""

    __slots__ = ()
    __module__ = package()
    _words = "there are no tensors of it; use one of {instead} elements"

    def __init__(self, name: str, legacy: str, itemsize: int, category: int, is_signed: bool | None) -> None:
        self.name, self.legacy, self.c_name = name, legacy, f"c10::{name}"
        self.itemsize, self.category = itemsize, category
        if is_signed is not None:
            self.is_signed = is_signed
        self.is_floating_point, self.is_complex = category == FLOATING, category == COMPLEX

    @property
    def np(self) -> Any:
        """Refused: no array has such elements."""
        instead = {FLOATING: "torch.bfloat16", COMPLEX: "torch.complex64"}.get(self.category, "torch.uint8")
        raise RuntimeError(f"{self}: {self._words.format(instead=instead)}")


class QuantizedDtype(BareDtype):
    """Of quantized tensors (ao/quantized_tensors.py). levels: the dtype of their levels."""

    __slots__ = ("levels",)
    __module__ = package()
    _words = "it is of quantized tensors, which torch.quantize_per_tensor() and quantize_per_channel() make"

    def __init__(self, name: str, levels: dtype, legacy: str) -> None:
        super().__init__(name, legacy, levels.itemsize, INTEGRAL, None)
        self.levels = levels

    @property
    def is_signed(self) -> bool:  # type: ignore[override]  # others have it as an attribute
        """Refused, as PyTorch does."""
        raise RuntimeError("isSignedType not supported for quantized types")


QUANTIZED: dict[str, QuantizedDtype] = {
    name: QuantizedDtype(name, levels, legacy)
    for name, levels, legacy in (
        ("qint8", int8, "QInt8"),
        ("quint8", uint8, "QUInt8"),
        ("qint32", int32, "QInt32"),
        ("quint4x2", uint8, "QUInt4x2"),
        ("quint2x4", uint8, "QUInt2x4"),
    )
}
BARE: dict[str, dtype] = {
    "complex32": BareDtype("complex32", "ComplexHalf", 4, COMPLEX, True),
    "float8_e8m0fnu": BareDtype("float8_e8m0fnu", "Float8_e8m0fnu", 1, FLOATING, False),
    "float4_e2m1fn_x2": BareDtype("float4_e2m1fn_x2", "Float4_e2m1fn_x2", 1, FLOATING, True),
    **{f"int{n}": BareDtype(f"int{n}", f"Int{n}", 1, INTEGRAL, True) for n in range(1, 8)},
    **{f"uint{n}": BareDtype(f"uint{n}", f"UInt{n}", 1, INTEGRAL, False) for n in range(1, 8)},
    **{
        f"bits{n}": BareDtype(f"bits{n}", f"Bits{n}", 2 if n == "16" else 1, INTEGRAL, False)
        for n in ("1x8", "2x4", "4x2", "8", "16")
    },
}
# Every dtype by its public names.
NAMED: dict[str, dtype] = {**{d.name: d for d in ALL}, **ALIASES, **QUANTIZED, **BARE}
NAMED["chalf"] = NAMED["complex32"]
# What Python's number types stand for where a dtype is asked for.
OF_PYTHON: dict[Any, dtype] = {float: float64, int: int64, bool: bool_, complex: complex128}


def of_python(value: Any) -> Any:
    """The dtype that one of Python's number types stands for; anything else as it is."""
    return OF_PYTHON.get(value, value) if isinstance(value, type) else value


# What PyTorch's messages call them.
C_NAMES = {d.name: d.c_name for d in ALL}
_FROM_NUMPY: dict[np.dtype[Any], dtype] = {d.np: d for d in ALL}
FLOAT8 = frozenset(d for d in ALL if d.name.startswith("float8"))
# float16 and bfloat16 (and float8) compute in float32 and round once, as PyTorch's kernels do.
REDUCED = frozenset({float16, bfloat16}) | FLOAT8


def from_numpy_dtype(np_dtype: Any) -> dtype:
    """The dtype of a NumPy array; TypeError names the supported ones."""
    found = _FROM_NUMPY.get(np_dtype)
    if found is not None:
        return found
    found = _FROM_NUMPY.get(np.dtype(np_dtype).newbyteorder("="))
    if found is None or not np.dtype(np_dtype).isnative:
        if found is not None:
            raise ValueError(
                "given numpy array has byte order different from the native byte order."
                " Conversion between byte orders is currently not supported."
            )
        names = ", ".join(
            d.np.name
            for d in (
                float64,
                float32,
                float16,
                complex64,
                complex128,
                int64,
                int32,
                int16,
                int8,
                uint64,
                uint32,
                uint16,
                uint8,
                bool_,
            )
        )
        kind = np.dtype(np_dtype).type
        raise TypeError(
            f"can't convert np.ndarray of type {kind.__module__}.{kind.__name__}. The "
            f"only supported types are: {names}."
        )
    return found


class _Default:
    """The dtype of new floating-point tensors."""

    value: dtype = float32


def get_default_dtype() -> dtype:
    """The dtype that Python floats get; float32 at start."""
    return _Default.value


# What was worked out under another default is forgotten by these.
on_default_change: list[Callable[[], None]] = []


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of new floating-point tensors; TypeError unless `d` is a floating dtype."""
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: expected a torch.dtype, got {d!r}")
    if not d.is_floating_point:
        raise TypeError(
            "only floating-point types are supported as the default type, "
            f"got {d!r}; use torch.float32, float64, float16 or bfloat16"
        )
    if d is not _Default.value:
        with switched("the default dtype"):
            _Default.value = d
            for forget in on_default_change:
                forget()


def opmath(d: dtype) -> dtype:
    """The dtype in which kernels for `d` compute."""
    return float32 if d in REDUCED else d
