"""The tables of tests/engine/ops/test_layouts.py say what an installed PyTorch does."""

import pytest

torch = pytest.importorskip("torch")

from tests.engine.ops import test_layouts as tables  # noqa: E402


@pytest.mark.parametrize(("expression", "strides"), tables.lines(tables.LAYOUTS))
def test_layout(expression, strides):
    assert str(tuple(eval(expression, tables.scope(torch)).stride())) == strides


@pytest.mark.parametrize(("expression", "expected"), tables.lines(tables.DTYPES))
@pytest.mark.filterwarnings("ignore")
def test_dtype(expression, expected):
    assert tables.outcome(torch, expression) == expected
