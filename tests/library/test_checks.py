"""torch.library.opcheck."""

from __future__ import annotations

from itertools import count

import pytest

import rushlight as torch
from rushlight.library import custom_op, opcheck
from rushlight.library.checks import OpCheckError

_number = count()
ALL = ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]


def op(fn, mutates_args=(), fake=None):
    made = custom_op(f"checked::op{next(_number)}", fn, mutates_args=mutates_args)
    if fake is not None:
        made.register_fake(fake)
    return made


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def written(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x * 2


def same(x: torch.Tensor) -> torch.Tensor:
    return x


def test_a_sound_op():
    made = op(doubled, fake=torch.empty_like)
    made.register_autograd(lambda ctx, grad: grad * 2)
    assert opcheck(made, (torch.randn(3, requires_grad=True),)) == dict.fromkeys(ALL, "SUCCESS")


@pytest.mark.parametrize(
    ("made", "check", "message"),
    [
        (op(doubled), "test_faketensor", "no fake impl"),
        (op(doubled, fake=lambda x: x.new_empty(4)), "test_faketensor", r"\[3\].*\[4\]"),
        (op(written, fake=torch.empty_like), "test_schema", "not defined as mutable"),
        (op(same, fake=torch.empty_like), "test_schema", "alias"),
    ],
)
def test_what_is_wrong_is_told(made, check, message):
    with pytest.raises(OpCheckError, match=message):
        opcheck(made, (torch.randn(3),))
    found = opcheck(made, (torch.randn(3),), raise_exception=False)
    assert isinstance(found[check], Exception)
    assert list(found) == ALL


def test_written_arguments_that_are_named():
    made = op(written, mutates_args=("x",), fake=torch.empty_like)
    assert opcheck(made, (torch.randn(3),), test_utils="test_schema") == {"test_schema": "SUCCESS"}


def test_what_it_does_not_take():
    with pytest.raises(ValueError, match="subset of"):
        opcheck(op(doubled), (torch.randn(3),), test_utils="test_x")
    with pytest.raises(ValueError, match="op must be"):
        opcheck(torch.sin, (torch.randn(3),))
    assert set(opcheck(torch.ops.aten.sin.default, (torch.randn(3),)).values()) == {"SUCCESS"}


@pytest.mark.parametrize("schema", [None, "(Tensor x, Tensor(a!) out) -> ()"])
def test_an_op_that_only_writes_needs_no_fake(schema):
    def sine_into(x: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(torch.sin(x))

    op = torch.library.custom_op("checks::sine_into", sine_into, mutates_args={"out"}, schema=schema)
    assert op(torch.empty(3, device="meta"), torch.empty(3, device="meta")) is None
    found = torch.library.opcheck(op, (torch.randn(3), torch.empty(3)))
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.parametrize("wider", [0, 1])
def test_sizes_that_depend_on_numbers_are_what_they_are(wider):
    def places(x: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(x)

    def fake(x):
        count = torch.library.get_ctx().new_dynamic_size()
        return x.new_empty([count, x.dim() + wider], dtype=torch.long)

    made = op(places, fake=fake)
    found = opcheck(made, (torch.tensor([0.0, 1, 2]),), raise_exception=False)
    assert ("mismatched" in str(found["test_faketensor"])) is bool(wider)
