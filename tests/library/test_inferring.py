"""torch.library.infer_schema: signatures of annotated functions. (Annotations are types here, and texts in two.)"""

from collections.abc import Sequence

import pytest

import rushlight as torch
from rushlight.library import infer_schema

Number = int | float | bool


def plain(
    x: torch.Tensor,
    y: torch.Tensor | None,
    z: list[int],
    w: Sequence[torch.Tensor | None],
    k: int = 3,
    *,
    s: str = "a",
    d: torch.dtype = torch.float32,
) -> torch.Tensor: ...


def several(
    x: "torch.Tensor", a: float, b: bool, n: Number, o: list[float] | None = None
) -> tuple[torch.Tensor, int]: ...


def lists(x: list[torch.Tensor], y: "int | None" = None) -> list[torch.Tensor]: ...
def nothing(x: torch.Tensor) -> None: ...
def bad_default(x: torch.Tensor, a: list[int] = [1]) -> None: ...  # noqa: B006
def untyped(x): ...
def pair(x: tuple[int, int]) -> None: ...
def number(x: int) -> None: ...
def silent(x: torch.Tensor): ...
def text(x: torch.Tensor) -> str: ...
def many(x: torch.Tensor, *a: int) -> None: ...
def unknown(x: "Nowhere") -> None: ...  # noqa: F821


def test_signatures():
    assert infer_schema(plain, mutates_args=()) == (
        '(Tensor x, Tensor? y, SymInt[] z, Tensor?[] w, SymInt k=3, *, str s="a", ScalarType d=float32) -> Tensor'
    )
    assert infer_schema(several, mutates_args=["x"], op_name="foo") == (
        "foo(Tensor(a0!) x, float a, bool b, Scalar n, float[]? o=None) -> (Tensor, SymInt)"
    )
    assert infer_schema(nothing, mutates_args="unknown") == "(Tensor(a0!) x) -> ()"
    assert infer_schema(lists, mutates_args="unknown") == "(Tensor(a0!)[] x, SymInt? y=None) -> Tensor[]"


@pytest.mark.parametrize(
    ("function", "written", "why"),
    [
        (untyped, (), "must have a type annotation"),
        (pair, (), "We do not support Tuple inputs"),
        (number, ["x"], "only Tensors or collections of Tensors can be mutated"),
        (silent, (), "No return type annotation"),
        (text, (), "Return has unsupported type"),
        (many, (), "positional-only args, varargs"),
        (bad_default, (), "unsupported default value type"),
        (unknown, (), "Unsupported type annotation Nowhere"),
        (number, ["q"], "were not found in the custom op's signature"),
        (number, "some", "mutates_args must either be"),
    ],
)
def test_what_a_signature_cannot_tell(function, written, why):
    with pytest.raises(ValueError, match=why):
        infer_schema(function, mutates_args=written)
