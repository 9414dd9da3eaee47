"""Construction and ranges compared with PyTorch itself, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
hypothesis = pytest.importorskip("hypothesis")

from hypothesis import (  # noqa: E402 - after the skips
    given,
    settings,
    strategies as st,
)

from rushlight._engine.core import dtype as dt  # noqa: E402
from rushlight._engine.numerics import ranges  # noqa: E402
from rushlight._engine.tensors.construction.from_data import infer  # noqa: E402

# NumPy scalars are left out: where PyTorch refuses np.bool_ or np.float32 for a dtype, we convert.
_NUMBERS = st.one_of(
    st.booleans(), st.integers(-(2**65), 2**65), st.floats(), st.complex_numbers(), st.none()
)
_DATA = st.recursive(_NUMBERS, lambda inner: st.lists(inner, max_size=3), max_leaves=8)
_DTYPES = st.sampled_from(
    [None, "bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64"]
)


def _outcome(call: Callable[[], Any]) -> Any:
    try:
        found = call()
    except (TypeError, ValueError, RuntimeError, OverflowError, NotImplementedError) as error:
        return type(error)
    array = found.numpy() if isinstance(found, torch.Tensor) else found
    return array.dtype.name, array.shape, np.nan_to_num(array).tolist()


@settings(max_examples=500, deadline=None)
@pytest.mark.filterwarnings("ignore")
@given(data=_DATA, of=_DTYPES)
def test_tensor(data: Any, of: str | None) -> None:
    expected = _outcome(lambda: torch.tensor(data, dtype=of and getattr(torch, of)))
    found = _outcome(lambda: infer(data, dt.BY_NAME[of] if of else None))
    # Of several mistakes PyTorch meets the first; we look at each kind of element at once.
    both_refuse = isinstance(expected, type) and isinstance(found, type)
    assert found == expected or (both_refuse and "," in repr(data))


_BOUNDS = st.one_of(st.integers(-20, 20), st.floats(-20, 20).map(lambda x: round(x, 3)))
_COUNTABLE = st.sampled_from(["int8", "int16", "int32", "int64", "float32", "float64"])


@settings(max_examples=400, deadline=None)
@given(start=_BOUNDS, end=_BOUNDS, step=_BOUNDS, of=_COUNTABLE)
def test_arange(start: Any, end: Any, step: Any, of: str) -> None:
    torch.set_num_threads(1)  # several threads start their parts anew, with other roundings
    expected = _outcome(lambda: torch.arange(start, end, step, dtype=getattr(torch, of)))
    assert _outcome(lambda: ranges.arange(start, end, step, dt.BY_NAME[of])) == expected


@settings(max_examples=400, deadline=None)
@given(start=_BOUNDS, end=_BOUNDS, steps=st.integers(-1, 120), of=_COUNTABLE)
def test_linspace(start: Any, end: Any, steps: int, of: str) -> None:
    expected = _outcome(lambda: torch.linspace(start, end, steps, dtype=getattr(torch, of)))
    assert _outcome(lambda: ranges.linspace(start, end, steps, dt.BY_NAME[of])) == expected


@settings(max_examples=200, deadline=None)
@given(
    start=st.floats(-3, 3),
    end=st.floats(-3, 3),
    steps=st.integers(0, 60),
    base=st.sampled_from([2.0, 10.0]),
    of=st.sampled_from(["float32", "float64"]),
)
def test_logspace(start: float, end: float, steps: int, base: float, of: str) -> None:
    expected = _outcome(lambda: torch.logspace(start, end, steps, base, dtype=getattr(torch, of)))
    assert _outcome(lambda: ranges.logspace(start, end, steps, base, dt.BY_NAME[of])) == expected
