"""torch._C.parse_schema: signatures as objects, and which changes of one old calls survive."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight import _C


def test_a_signature_is_read_and_written() -> None:
    text = "aten::foo.out(Tensor(a -> *)[] x, int[2] y=1, *, ScalarType? t=None, SymInt n=0, Tensor(b!) out) -> Tensor(b!)"
    schema = _C.parse_schema(text)
    assert (
        str(schema) == text
        and schema == _C.parse_schema(text)
        and isinstance(schema, torch._C.FunctionSchema)
    )
    assert (schema.name, schema.overload_name, schema.is_mutable) == ("aten::foo", "out", True)
    x, y, t, n, out = schema.arguments
    assert (y.default_value, y.N, y.type.str()) == ([1, 1], 2, "int[]")
    assert t.type.str() == "int?" and str(t.real_type) == "Optional[ScalarType]"
    assert out.is_out and out.alias_info.before_set == {"b"} and not x.alias_info.is_write
    assert n.real_type.str() == "SymInt"


def test_what_old_calls_survive() -> None:
    old = _C.parse_schema("f(Tensor self, int a, int b=1) -> Tensor")
    more = _C.parse_schema("f(Tensor self, int a, int b=1, int c=2) -> Tensor")
    other = _C.parse_schema("f(Tensor self, int a, int b=4) -> Tensor")
    assert more.is_backward_compatible_with(old) and not old.is_backward_compatible_with(more)
    assert not other.is_backward_compatible_with(old)
    assert more.check_forward_compatible_with(old) == (True, "")
    fits, reason = other.check_forward_compatible_with(old)
    assert not fits and reason == "'b' is not forward compatible with the older version of the schema"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("f", "only the operator name was given"),
        ("f(Tensor a", "but found 'eof'"),
        ("f(Tenso a) -> int", "unknown type specifier"),
        ("f(int a=0, int b) -> int", "Non-default positional argument follows default"),
        ("f(int a=0, ...) -> int", "can't have default value args"),
    ],
)
def test_what_is_no_signature(text: str, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        _C.parse_schema(text)
