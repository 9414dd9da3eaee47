"""Printing compared with PyTorch itself on generated arrays and options."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
hypothesis = pytest.importorskip("hypothesis")

import ml_dtypes  # noqa: E402 - after the skips
from hypothesis import (  # noqa: E402
    given,
    settings,
    strategies as st,
)
from hypothesis.extra import numpy as hnp  # noqa: E402

import rushlight  # noqa: E402
from rushlight._engine.tensors.tensor import wrap  # noqa: E402

_FLOATS = ("float16", "float32", "float64", "bfloat16", "float8_e5m2")
_OTHERS = ("int8", "int64", "uint8", "bool", "complex64", "complex128")
_ML = {"bfloat16": ml_dtypes.bfloat16, "float8_e5m2": ml_dtypes.float8_e5m2}

_shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=7)
_options = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 9),
        "threshold": st.sampled_from([0, 3, 20, 1000]),
        "edgeitems": st.integers(0, 4),
        "linewidth": st.integers(1, 130),
        "sci_mode": st.sampled_from([None, True, False]),
        "profile": st.sampled_from(["default", "short", "full"]),
    },
)


@st.composite
def _arrays(draw: st.DrawFn) -> np.ndarray:
    name = draw(st.sampled_from(_FLOATS + _OTHERS))
    shape = draw(_shapes)
    if name not in _ML:
        return draw(hnp.arrays(name, shape))
    wide = draw(hnp.arrays(np.float32, shape, elements=st.floats(width=32)))
    with np.errstate(all="ignore"):
        return wide.astype(_ML[name])


def _torch(array: np.ndarray) -> torch.Tensor:
    name = array.dtype.name
    if name not in _ML:
        return torch.from_numpy(array)
    bits = np.int16 if array.itemsize == 2 else np.uint8
    return torch.from_numpy(array.view(bits)).view(getattr(torch, name))


@settings(max_examples=400, deadline=None)
@given(array=_arrays(), options=_options)
def test_repr_is_pytorchs(array: np.ndarray, options: dict) -> None:
    try:
        for package in (torch, rushlight):
            package.set_printoptions(profile="default")
            package.set_printoptions(**options)
        assert repr(wrap(array)) == repr(_torch(array))
    finally:
        torch.set_printoptions(profile="default")
        rushlight.set_printoptions(profile="default")


@given(
    value=st.one_of(st.floats(), st.integers(-(2**40), 2**40), st.booleans()),
    spec=st.sampled_from(["", ".3f", "10.2e", "g", "+", "%", "d", "x"]),
)
def test_format_of_a_0d_tensor_is_its_numbers(value: object, spec: str) -> None:
    texts = []
    for package in (torch, rushlight):
        try:
            texts.append(format(package.tensor(value), spec))
        except (ValueError, TypeError) as error:
            texts.append(repr(error))
    assert texts[0] == texts[1]
