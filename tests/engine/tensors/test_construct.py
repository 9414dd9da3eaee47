"""Arrays from Python data: PyTorch's inference, its refusals, and shared memory."""

from __future__ import annotations

import array
import enum
import warnings
from collections import deque
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core import dtype as dt, errors
from rushlight._engine.core.conversion import convert, number
from rushlight._engine.numerics import ranges
from rushlight._engine.tensors.construction import from_data
from rushlight._engine.tensors.construction.from_data import checked, from_buffer, infer


@pytest.fixture(autouse=True)
def _ignore_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (True, "bool", ()),
        (3, "int64", ()),
        (2.5, "float32", ()),
        (1j, "complex64", ()),
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        ([[], [1]], "float32", (2, 0)),
        ([True, 2], "int64", (2,)),
        ([True, 2.0], "float32", (2,)),
        ([1, 2j], "complex64", (2,)),
        ([[1, 2], (3, 4)], "int64", (2, 2)),
        ([[[1.0, 2.0]], [[3.0, 4.0]]], "float32", (2, 1, 2)),
        (range(4), "int64", (4,)),
        (deque([1, 2]), "int64", (2,)),
        (bytearray(b"ab"), "int64", (2,)),
        (array.array("f", [1, 2]), "float32", (2,)),
        (np.float64(1), "float64", ()),
        ([np.float16(1)], "float16", (1,)),
        ([np.float32(1), 2.0], "float32", (2,)),
        ([np.int32(3), np.int8(1)], "int32", (2,)),
        ([np.int32(3), 1], "int64", (2,)),
        ([np.complex64(1), 1.0], "complex64", (2,)),
        (np.arange(3, dtype=np.uint8), "uint8", (3,)),
        ([np.arange(2), np.arange(2)], "int64", (2, 2)),
        ([np.arange(2), [3, 4]], "int64", (2, 2)),
    ],
)
def test_inference(data: Any, dtype: str, shape: tuple[int, ...]) -> None:
    found = infer(data)
    assert (found.dtype.name, found.shape) == (dtype, shape)


def test_default_dtype_decides_for_python_floats() -> None:
    dt.set_default_dtype(dt.float64)
    try:
        assert infer([1.0]).dtype == np.float64
        assert infer([1j]).dtype == np.complex128
    finally:
        dt.set_default_dtype(dt.float32)


@pytest.mark.parametrize(
    ("data", "of", "expected"),
    [
        ([1.9, -1.9], "int64", [1, -1]),
        ([0.5, 0, 2], "bool", [True, False, True]),
        ([-1], "uint8", [255]),
        ([2**63], "float32", [2.0**63]),
        ([1e300], "float32", [np.inf]),
        ([70000.0], "float16", [np.inf]),
        ([2**62 + 1, 1.5], "int64", [2**62 + 1, 1]),
        ([2**64 - 1], "uint64", [2**64 - 1]),
        ([Fraction(1, 2)], "float32", [0.5]),
        ([True, 2], "complex64", [1, 2]),
        ([500.0, float("inf")], "float8_e4m3fn", [448, 448]),
    ],
)
def test_conversion_to_a_dtype(data: Any, of: str, expected: list[Any]) -> None:
    found = infer(data, dt.BY_NAME[of])
    assert found.dtype == dt.BY_NAME[of].np
    assert found.tolist() == expected


def test_tensors_beside_sequences_are_read_as_sequences() -> None:
    sizes = torch.tensor([2, 3])
    box = torch.tensor([[0.0, 0.0], [0.0, sizes[1]], sizes])
    assert (box.dtype, box.tolist()) == (torch.float32, [[0, 0], [0, 3], [2, 3]])
    assert torch.tensor([[1, 2], torch.tensor([1.5, 2]).double()]).dtype is torch.float64
    assert torch.tensor([[[1, 2]], torch.tensor([[5, 6]])]).tolist() == [[[1, 2]], [[5, 6]]]
    assert torch.tensor([[1], torch.tensor([[3]])]).tolist() == [[1], [3]]
    assert torch.tensor([[1, 2], {3: 0, 4: 0}], dtype=torch.int16).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(RuntimeError, match="Could not infer dtype of set"):
        torch.tensor([[1, 2], {3, 4}])
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1"):
        torch.tensor([[1, 2], torch.tensor([1.5, 2, 3])])
    with pytest.raises(ValueError, match="only one element tensors can be converted"):
        torch.tensor([sizes, [0.0, 0.0]])


def test_whole_numbers_are_not_read_from_tensors_of_others() -> None:
    for of in (torch.int64, torch.uint8, torch.bool):
        for given in (torch.tensor(1.5), torch.tensor(1j), torch.tensor([1, 2])):
            with pytest.raises(TypeError, match="only integer tensors of a single element can be"):
                torch.tensor([given, 2], dtype=of)
    assert torch.tensor([torch.tensor(True), 2], dtype=torch.int64).tolist() == [1, 2]
    assert torch.tensor([torch.tensor(1 + 0j), 2], dtype=torch.float32).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.tensor([torch.tensor(1j), 2], dtype=torch.float32)


@pytest.mark.parametrize(
    ("data", "of", "error", "words"),
    [
        ([[1, 2], [3]], None, ValueError, "expected sequence of length 2 at dim 1 (got 1)"),
        ([[1, 2], [3, 4, 5]], None, ValueError, "expected sequence of length 2 at dim 1 (got 3)"),
        ([[[1, 2]], [[3]]], None, ValueError, "expected sequence of length 2 at dim 2 (got 1)"),
        ([[1], 2], None, TypeError, "not a sequence"),
        ([1, [2]], None, TypeError, "'list' object cannot be interpreted as an integer"),
        ([1.0, [2]], None, TypeError, "must be real number, not list"),
        (None, None, RuntimeError, "Could not infer dtype of NoneType"),
        ([[1], None], None, RuntimeError, "Could not infer dtype of NoneType"),
        ({1, 2}, None, RuntimeError, "Could not infer dtype of set"),
        ("a", None, TypeError, "new(): invalid data type 'str'"),
        ([1, "a"], None, TypeError, "new(): invalid data type 'str'"),
        (["a"], None, ValueError, "too many dimensions 'str'"),
        ([2**63], None, ValueError, "Overflow when unpacking long long"),
        ([300], "uint8", RuntimeError, "value cannot be converted to type uint8 without overflow"),
        ([1e30], "int32", RuntimeError, "value cannot be converted to type int32 without overflow"),
        ([float("nan")], "int64", RuntimeError, "without overflow"),
        ([-1], "uint64", OverflowError, "can't convert negative int to unsigned"),
        ([1j], "float32", TypeError, "must be real number, not complex"),
        ([1j], "int64", TypeError, "'complex' object cannot be interpreted as an integer"),
        (np.array([None]), None, TypeError, "can't convert np.ndarray of type numpy.object_"),
        (np.arange(3)[::-1], None, ValueError, "At least one stride in the given numpy array is neg"),
        (np.arange(3, dtype=">i4"), None, ValueError, "byte order different from the native"),
    ],
)
def test_refusals(data: Any, of: str | None, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        infer(data, dt.BY_NAME[of] if of else None)
    assert words in str(caught.value)


def test_self_reference_ends() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="too many dimensions 'list'"):
        infer(loop)


def test_arrays_are_copied_in_their_order() -> None:
    source = np.asfortranarray(np.ones((2, 3)))
    found = infer(source)
    assert found.strides == source.strides and not np.shares_memory(found, source)


def test_odd_strides_are_refused() -> None:
    fields = np.zeros(2, dtype=[("a", "u1"), ("b", "f4")])["b"]
    with pytest.raises(ValueError, match="not a multiple of the element byte size"):
        checked(fields)


def test_read_only_arrays_warn_once() -> None:
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    errors._warned.clear()
    with pytest.warns(UserWarning, match="not writable"):
        assert from_data.share(frozen) is frozen
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_data.share(frozen)


def test_buffers_share_memory() -> None:
    memory = bytearray(b"abcd")
    found = from_buffer(memory, dt.int16, count=1, offset=2)
    memory[2] = 1
    assert found.tolist() == [int.from_bytes(b"\x01d", "little")]


@pytest.mark.parametrize(
    ("count", "offset", "words"),
    [
        (0, 0, "must not be 0"),
        (2, 2, "requested buffer length"),
        (-1, 4, "must be non-negative"),
        (-1, 3, "must be a multiple of element size"),
    ],
)
def test_buffer_refusals(count: int, offset: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        from_buffer(bytearray(4), dt.int16, count, offset)


def test_half_dtypes_are_reached_through_float32() -> None:
    # 1 + 2**-11 + 2**-40 lies above the midpoint of two halves, on it once rounded to float32.
    value = np.array([1 + 2.0**-11 + 2.0**-40])
    assert convert(value, np.dtype(np.float16))[0] == 1
    assert convert(np.array([1e30]), np.dtype(ml_dtypes.float8_e4m3fn)).astype(float)[0] == 448


@pytest.mark.parametrize(
    ("value", "of"),
    [
        (300, "uint8"),
        (-256, "uint8"),
        (1e300, "float32"),
        (70000, "float16"),
        (1j, "float32"),
        (float("nan"), "int64"),
        (2**63, "int64"),
    ],
)
def test_a_number_that_does_not_fit(value: Any, of: str) -> None:
    with pytest.raises(RuntimeError, match="without overflow"):
        number(value, dt.BY_NAME[of])


def test_a_number_that_fits() -> None:
    assert number(-1, dt.uint8) == 255
    assert number(float("inf"), dt.float16) == np.inf
    assert number(2 + 0j, dt.int32) == 2


@pytest.mark.parametrize(
    ("bounds", "of", "expected"),
    [
        ((0, 5, 1), "int64", [0, 1, 2, 3, 4]),
        ((5, 1, -2), "int64", [5, 3]),
        ((0, 1, 0.25), "float32", [0, 0.25, 0.5, 0.75]),
        ((1, 5, 1.5), "int32", [1, 2, 3]),
        ((250, 258, 1), "uint8", [250, 251, 252, 253, 254, 255, 0, 1]),
        ((0, 0, 1), "float32", []),
        ((2**62, 2**62 + 2, 1), "int64", [2**62, 2**62 + 1]),
    ],
)
def test_arange(bounds: tuple[Any, ...], of: str, expected: list[Any]) -> None:
    assert ranges.arange(*bounds, dt.BY_NAME[of]).tolist() == expected


@pytest.mark.parametrize(
    ("bounds", "of", "error", "words"),
    [
        ((1, 5, 0), "int64", RuntimeError, "step must be nonzero"),
        ((0, 5, 0.5), "int64", ValueError, "step must be nonzero"),
        ((5, 1, 1), "int64", RuntimeError, "upper bound and lower bound inconsistent with step sign"),
        ((0, float("inf"), 1), "float32", RuntimeError, "unsupported range"),
        ((0, 3, 1), "bool", NotImplementedError, "not implemented for 'Bool'"),
    ],
)
def test_arange_refusals(bounds: tuple[Any, ...], of: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ranges.arange(*bounds, dt.BY_NAME[of])


def test_linspace_and_logspace() -> None:
    assert ranges.linspace(0, 10, 5, dt.int64).tolist() == [0, 2, 5, 7, 10]
    assert ranges.linspace(3, 1, 1, dt.float32).tolist() == [3]
    assert ranges.linspace(0, 1, 0, dt.float32).tolist() == []
    assert ranges.logspace(0, 4, 5, 10.0, dt.int64).tolist() == [1, 10, 100, 1000, 10000]
    with pytest.raises(RuntimeError, match="number of steps must be non-negative"):
        ranges.linspace(0, 1, -1, dt.float32)


def test_linspace_is_symmetric() -> None:
    for of in (dt.float32, dt.float64, dt.bfloat16):
        values = ranges.linspace(-1, 1, 100, of).astype(np.float64)
        np.testing.assert_array_equal(values, -values[::-1])


def test_longlong_is_int64():
    """onnxruntime, among others, hands out NumPy's other type of the same integers."""
    array = np.arange(6, dtype=np.longlong)
    shared = torch.from_numpy(array)
    array[0] = 7
    for t in (
        shared,
        torch.tensor(array),
        torch.as_tensor(array),
        torch.from_dlpack(array),
        torch.tensor(array[0]),
    ):
        assert t.dtype is torch.int64 and t.numpy().dtype.char == np.dtype(np.int64).char
        for _ in range(40):  # also by machine code
            assert (t == t).all() and (t + t).flatten()[0] == 14
    assert torch.arange(6)[array[1:].astype(np.longlong)].tolist() == [1, 2, 3, 4, 5]


def test_members_of_enumerations_are_integers() -> None:
    class Kind(enum.IntEnum):
        ONE = 1
        TWO = 2

    assert torch.tensor(Kind.TWO).tolist() == 2 and torch.as_tensor(Kind.ONE).dtype == torch.int64
    assert torch.tensor([[Kind.ONE, 5], [Kind.TWO, 6]], dtype=torch.float32).tolist() == [[1, 5], [2, 6]]
    assert torch.tensor([True, Kind.TWO]).tolist() == [1, 2]
    assert torch.arange(3)[[Kind.ONE, Kind.TWO]].tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="Could not infer dtype"):
        torch.tensor(enum.Enum("Other", ["A"]).A)
