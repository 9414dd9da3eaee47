"""Result dtypes of all pairs of dtypes, for operands with dims, without dims, and Python numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DTYPES = (
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "float8_e4m3fn",
    "float8_e5m2",
)
NUMBERS = {"True": True, "2": 2, "2.5": 2.5, "1j": 1j}
# Ops with promotion rules of their own.
OPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda torch, a, b: a + b,
    "div": lambda torch, a, b: a / b,
    "pow": lambda torch, a, b: a**b,
    "eq": lambda torch, a, b: a == b,
    "where": lambda torch, a, b: torch.where(torch.ones((), dtype=torch.bool), a, b),
}
OPERANDS = ("bool", "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def _short(dtype: Any) -> str:
    return str(dtype)[6:]


def _result(action: Callable[[], Any]) -> str:
    try:
        found = action()
    except Exception as error:  # noqa: BLE001 - refusals are results
        return type(error).__name__
    return _short(getattr(found, "dtype", found))


def _half_complex(a: Any, b: Any) -> bool:
    """Whether PyTorch answers complex32, which NumPy does not have; it is complex64 here."""
    kinds = [str(getattr(v, "dtype", type(v))) for v in (a, b)]
    return any("float16" in k and "bfloat16" not in k for k in kinds) and any("complex" in k for k in kinds)


def table(torch: Any) -> dict[str, list[str]]:
    """One row per operation and first dtype, in the order of the second operands."""

    def make(name: str, dims: bool) -> Any:
        return torch.ones((2,) if dims else (), dtype=getattr(torch, name))

    found = {
        f"promote_types {a}": [
            _result(lambda b=b: torch.promote_types(getattr(torch, a), getattr(torch, b))) for b in DTYPES
        ]
        for a in DTYPES
    }
    found.update(
        {
            f"can_cast {a}": [str(torch.can_cast(getattr(torch, a), getattr(torch, b))) for b in DTYPES]
            for a in DTYPES
        }
    )
    for a in DTYPES:
        for dims in (True, False):
            left = make(a, dims)
            found[f"result_type {a} {'dims' if dims else '0-d'}"] = [
                "-" if _half_complex(left, right) else _result(lambda r=right: torch.result_type(left, r))
                for right in [*[make(b, d) for b in DTYPES for d in (True, False)], *NUMBERS.values()]
            ]
    for op, function in OPS.items():
        for a in OPERANDS:
            for dims in (True, False):
                left = make(a, dims)
                found[f"{op} {a} {'dims' if dims else '0-d'}"] = [
                    "-" if _half_complex(left, right) else _result(lambda r=right: function(torch, left, r))
                    for right in [*[make(b, d) for b in OPERANDS for d in (True, False)], *NUMBERS.values()]
                ]
    for a in OPERANDS:
        for name in (
            "sum",
            "mean",
            "prod",
            "cumsum",
            "max",
            "any",
            "sqrt",
            "exp",
            "floor",
            "abs",
            "neg",
            "argmax",
            "sigmoid",
            "round",
            "std",
            "isnan",
            "sign",
        ):
            found.setdefault(f"unary {a}", []).append(
                _result(lambda n=name: getattr(torch, n)(make(a, True), *([0] if n == "cumsum" else [])))
            )
    return found
