"""The arrays that the namespace hands out: their operators and brackets are the standard's."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import rushlight as torch
from rushlight import array_api as xp
from rushlight._engine.tensors.operators import BINARY, COMPARE, UNARY
from rushlight.array_api.array import Array

INTEGERS = (xp.uint8, xp.uint16, xp.uint32, xp.int8, xp.int64)


def test_every_function_hands_out_arrays():
    x = xp.asarray([[1.0, 2.0], [3.0, 5.0]])
    made = (
        xp.zeros(2),
        xp.sin(x),
        x + 1,
        x[0],
        x.mT,
        x.to_device("cpu"),
        xp.meshgrid(x[0], x[1])[1],
        xp.linalg.eigh(x).eigenvalues,
        xp.unique_all(x).counts,
        xp.fft.fft(x),
        torch.sin(x),
        torch.max(x, 0).indices,
        xp.sin(torch.ones(2)),
        xp.asarray(torch.nn.Parameter(torch.ones(2))),
    )
    assert {type(a) for a in made} == {Array}
    assert x.size == 4 and x.__array_namespace__() is xp and operator.index(xp.asarray(3)) == 3


def test_asarray_takes_tensors_and_shares_their_memory_and_graph():
    t = torch.arange(3.0, requires_grad=True)
    x = xp.asarray(t * 1)
    x[1:] *= 3
    x += 1
    assert (x * t).shape == (3,) and type(t * x) is Array
    xp.sum(x * x).backward()
    assert t.grad.tolist() == [2, 24, 42]
    plain = torch.zeros(3)
    xp.asarray(plain)[::2] = 7
    assert plain.tolist() == [7, 0, 7] and type(plain + plain) is torch.Tensor


@pytest.mark.parametrize("name", [*BINARY, *COMPARE])
def test_operators_promote_as_the_standard_says(name):
    kinds = (*INTEGERS, xp.float32, xp.float64)
    if name in ("and", "or", "xor", "lshift", "rshift"):
        kinds = INTEGERS
    elif name in ("truediv", "matmul"):
        kinds = (xp.float32, xp.float64)
    for a in kinds:
        for b in kinds:
            if xp.isdtype(a, "integral") is not xp.isdtype(b, "integral"):
                continue
            wanted = xp.bool if name in COMPARE else xp.result_type(a, b)
            wide, zero = xp.ones(2, dtype=a), xp.ones(2 if name == "matmul" else (), dtype=b)
            call = getattr(Array, f"__{name}__")
            assert call(wide, zero).dtype is wanted, (a, b)
            if name in BINARY:
                assert getattr(Array, f"__r{name}__")(wide, zero).dtype is wanted


@pytest.mark.parametrize("name", [n for n in BINARY if n != "matmul"])
def test_in_place_operators_keep_the_dtype(name):
    write = getattr(operator, f"i{name}")
    x = xp.asarray([4, 5], dtype=xp.float64 if name == "truediv" else xp.uint32)
    same, wanted = x, getattr(Array, f"__{name}__")(x, xp.asarray(2, dtype=x.dtype))
    x = write(x, xp.asarray(2, dtype=x.dtype))
    assert x is same and x.tolist() == wanted.tolist()
    with pytest.raises(TypeError, match="cannot hold"):
        x = xp.asarray([4, 5], dtype=xp.float32 if name == "truediv" else xp.int8)
        write(x, xp.asarray(2, dtype=xp.float64 if name == "truediv" else xp.int64))


def test_unary_operators():
    x = xp.asarray([1, -2])
    assert [getattr(Array, f"__{n}__")(x).tolist() for n in UNARY] == [[-1, 2], [1, 2], [-2, 1], [1, -2]]


def test_what_is_no_operand():
    x = xp.ones(2)
    assert (x == None) is False and (x != "a") is True  # noqa: E711
    with pytest.raises(TypeError, match="unsupported operand"):
        x + [1, 2]
    assert (
        type(np.ones(2) + x) is type(x + np.float32(1)) is Array and (x + np.float32(1)).dtype is xp.float32
    )


def test_division_by_and_of_infinity():
    x = xp.asarray([xp.inf, -xp.inf, 1.0, -1.0, -0.0, 5.0])
    y = xp.asarray([2.0, 2.0, -xp.inf, xp.inf, 3.0, -2.0])
    assert str((x // y).tolist()) == "[inf, -inf, -0.0, -0.0, -0.0, -3.0]"
    zeros = xp.asarray([0.0, -0.0, 4.0, -4.0])
    assert str((zeros % xp.asarray([-2.0, 2.0, -2.0, 2.0])).tolist()) == "[-0.0, 0.0, -0.0, 0.0]"
    # PyTorch's, which are Python's.
    assert str((torch.tensor([torch.inf]) // 2).tolist()) == "[nan]"
    assert str((torch.tensor([0.0]) % -2.0).tolist()) == "[0.0]"


@pytest.mark.parametrize(
    "key",
    [
        np.s_[::-1],
        np.s_[:, ::-2],
        np.s_[1, ::-1],
        np.s_[..., None, 2:0:-1],
        np.s_[::-1, ::-1],
        np.s_[5:0:-1, 1:],
    ],
)
def test_slices_may_step_back(key):
    a = np.arange(12.0).reshape(3, 4)
    x = xp.asarray(torch.from_numpy(a.copy()))
    assert x[key].tolist() == a[key].tolist()
    a[key] = np.arange(a[key].size).reshape(a[key].shape) + 20
    x[key] = xp.asarray(torch.from_numpy(a[key].copy()))
    assert x.tolist() == a.tolist()
    a[key], x[key] = 5, 5
    assert x.tolist() == a.tolist()


def test_gradients_through_slices_that_step_back():
    x = xp.asarray([1.0, 2.0, 3.0])
    x.requires_grad_()
    xp.sum(x[::-2] * xp.asarray([5.0, 7.0])).backward()
    assert x.grad.tolist() == [7, 0, 5]


def test_what_no_array_library_indexes():
    x = xp.ones((2, 3))
    assert x[xp.zeros((2, 0), dtype=xp.bool)].shape == (0,)
    for key in (5, (0, 0, 0), xp.ones(3, dtype=xp.bool)):
        with pytest.raises(IndexError):
            x[key]
        with pytest.raises(IndexError):
            x[key] = 1


def test_cross_takes_vectors_of_three():
    with pytest.raises(ValueError, match="cross"):
        xp.linalg.cross(xp.ones((3, 3)), xp.ones((1, 1)))


def test_full_takes_its_dtype_from_the_value():
    assert [xp.full(2, v).dtype for v in (True, 2, 2.0, 2j)] == [xp.bool, xp.int64, xp.float32, xp.complex64]
    assert xp.full((2, 3), 7, dtype=xp.uint8).stride() == (3, 1)


def test_wide_unsigned_integers_are_taken_by_the_namespace_alone():
    wide = torch.tensor([3, 1, 2]).to(torch.uint16)
    x = xp.asarray(wide)
    for _ in range(4):  # until calls go by plans
        assert (x + x).tolist() == [6, 2, 4] and int(xp.max(x)) == 3 and xp.searchsorted(x[1:], x).tolist()
        assert x[::-1].tolist() == xp.flip(x).tolist() == [2, 1, 3]
        for call in (
            lambda: wide + wide,
            lambda: torch.add(x, x),
            wide.amax,
            lambda: wide.flip(0),
            lambda: torch.searchsorted(wide, wide),
            lambda: wide.cumsum(0, dtype=torch.uint16),
            lambda: wide.sum(dtype=torch.uint16),
            lambda: wide[None].tril(),
            lambda: torch.isin(wide, wide),
        ):
            with pytest.raises(NotImplementedError, match="UInt16"):
                call()
