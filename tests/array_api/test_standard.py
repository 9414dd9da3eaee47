"""rushlight.array_api beside NumPy, whose namespace is the standard's too: values, shapes and dtypes."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight import array_api
from tests.array_api.calls import ALL, CALLS

# What the standard names, beside the functions that CALLS has.
OTHERS = (
    "e inf nan newaxis pi empty empty_like from_dlpack can_cast finfo iinfo isdtype result_type fft linalg "
    "__array_namespace_info__ __array_api_version__"
).split()


def sources(dtype):
    """The arrays that a call may mention, as NumPy's."""
    rng = np.random.default_rng(3)
    kind = np.dtype(dtype).kind

    def drawn(*shape):
        if kind in "bui":
            return np.asarray(rng.integers(kind != "b", 2 if kind == "b" else 5, shape), dtype)
        real = rng.uniform(0.1, 0.9, shape)
        return np.asarray(real + 1j * rng.uniform(0.1, 0.9, shape) if kind == "c" else real, dtype)

    found = {
        name: drawn(*shape)
        for name, shape in (("x", (3, 4)), ("y", (3, 4)), ("v", (4,)), ("w", (4,)), ("s", ()))
    }
    m = drawn(2, 3, 3)
    # Hermitian and positive: every decomposition exists.
    found["sq"] = (m @ m.conj().mT + 2 * np.eye(3)).astype(dtype) if kind in "fc" else m
    return {**found, "i": np.asarray([1, 0, 2, 1])}


def values(result):
    """A result as a list of NumPy arrays."""
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [np.asarray(p.numpy() if isinstance(p, torch.Tensor) else p) for p in parts]


def difference(call, dtype):
    """What is wrong with a call; an empty text if nothing."""
    given = sources(dtype)
    with np.errstate(all="ignore"):
        wanted = values(eval(call, {"xp": np, "D": getattr(np, dtype), **given}))
    tensors = {name: torch.from_numpy(a.copy()) for name, a in given.items()}
    try:
        found = values(eval(call, {"xp": array_api, "D": getattr(array_api, dtype), **tensors}))
    except (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    for a, b in zip(found, wanted, strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"{a.dtype} {a.shape}, expected {b.dtype} {b.shape}"
        digits = 2e-4 if a.dtype in (np.float32, np.complex64) else 1e-9
        if not np.allclose(a, b, digits, digits, equal_nan=True):
            return f"{a}, expected {b}"
    return ""


@pytest.mark.parametrize(("name", "dtypes", "call"), CALLS, ids=[c[0] for c in CALLS])
def test_call(name, dtypes, call):
    assert {d: text for d in dtypes if (text := difference(call, d))} == {}


def test_all_names_are_called_or_listed():
    called = {c[0].split()[0] for c in CALLS} | set(OTHERS) | set(ALL)
    assert {*dir(array_api), *vars(array_api.linalg), *vars(array_api.fft)} <= called
    for name in OTHERS:
        getattr(array_api, name)


def test_promotion_ignores_dims_and_python_numbers():
    wide, zero = torch.ones(2, dtype=torch.float32), torch.ones((), dtype=torch.float64)
    assert array_api.add(wide, zero).dtype is torch.float64
    assert array_api.result_type(torch.int8, torch.uint8) is torch.int16
    assert array_api.result_type(wide, 1.0) is torch.float32
    assert array_api.can_cast(torch.int8, torch.int16) and not array_api.can_cast(torch.int16, torch.int8)
    with pytest.raises(ValueError, match="at least one array"):
        array_api.result_type(1, 2)


@pytest.mark.parametrize(
    ("a", "b", "both"),
    [
        ("uint8", "uint16", "uint16"),
        ("uint16", "uint64", "uint64"),
        ("int8", "uint16", "int32"),
        ("int16", "uint32", "int64"),
        ("bool", "bool", "bool"),
    ],
)
def test_wide_unsigned_integers_promote(a, b, both):
    x, y = (torch.ones(2, dtype=getattr(torch, d)) for d in (a, b))
    wanted = getattr(torch, both)
    assert array_api.result_type(x.dtype, y) is array_api.result_type(y, x.dtype) is wanted
    assert array_api.concat([x, y]).dtype is array_api.stack([x, y]).dtype is wanted
    assert array_api.where(x == x, y, x).dtype is wanted
    assert array_api.can_cast(a := x.dtype, wanted) and not array_api.can_cast(torch.complex64, a)


def test_arange_of_nothing_keeps_the_dtype():
    assert array_api.arange(5, -1.0, 1).dtype is torch.float32
    assert array_api.arange(5, -1, 1).dtype is torch.int64


def test_signs_of_nan():
    x = torch.tensor([torch.nan, -2.0, 0.0])
    assert array_api.isnan(array_api.sign(x)).tolist() == [True, False, False]
    assert array_api.isnan(array_api.sign(x.to(torch.complex64)).imag).tolist() == [True, False, False]


def test_upper_cholesky_has_no_negative_zeros():
    found = array_api.linalg.cholesky(array_api.eye(3, dtype=torch.complex128), upper=True)
    assert not array_api.any(array_api.signbit(found.imag)) and not array_api.any(
        array_api.signbit(found.real)
    )


def test_dtypes_and_inspection():
    info = array_api.__array_namespace_info__()
    assert set(info.dtypes()) == set(ALL)
    assert info.dtypes(kind=("bool", "real floating")) == {
        "bool": torch.bool,
        "float32": torch.float32,
        "float64": torch.float64,
    }
    assert info.default_dtypes()["real floating"] is torch.float32
    assert info.capabilities()["boolean indexing"] and info.default_device() in info.devices()
    assert array_api.isdtype(torch.uint8, ("bool", "unsigned integer"))
    assert array_api.finfo(torch.complex64).dtype is torch.float32 and array_api.iinfo(torch.int8).max == 127
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="floating")


def test_every_nan_is_a_value_of_its_own():
    found = array_api.unique_all(torch.tensor([float("nan"), 1.0, float("nan")]))
    assert found.counts.tolist() == [1, 1, 1]


def test_unique_complex_values():
    found = array_api.unique_all(torch.tensor([1j, 2, 1j, -0.0, complex(torch.nan, 1), 0]))
    assert found.values[:3].tolist() == [0, 1j, 2] and found.counts.tolist() == [2, 2, 1, 1]
    assert found.indices.tolist() == [3, 0, 1, 4] and found.inverse_indices.tolist() == [1, 2, 1, 0, 3, 0]


def test_a_tensor_knows_its_namespace():
    x = torch.ones(2)
    assert x.__array_namespace__() is array_api is x.__array_namespace__(api_version="2024.12")
    with pytest.raises(ValueError, match="version"):
        x.__array_namespace__(api_version="1999.01")
