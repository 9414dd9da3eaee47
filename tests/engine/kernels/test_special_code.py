"""Machine code of special functions beside the formulas that it is written from."""

from __future__ import annotations

import numpy as np
import pytest

from rushlight._engine.kernels.emit.special_code import SPECIAL
from rushlight._engine.kernels.loops.pointwise import pointwise
from rushlight._engine.ops.atoms import ATOMS
from rushlight._engine.ops.expressions import m, symbol

pytestmark = pytest.mark.usefixtures("llvm")
_ENDS = [
    0.0,
    -0.0,
    1,
    -1,
    0.5,
    -0.5,
    8,
    -8,
    5,
    -5,
    2,
    1e-300,
    -1e-30,
    1e5,
    np.inf,
    -np.inf,
    np.nan,
    -26.7,
    -27,
]
_DRAWN = np.random.default_rng(0).uniform(-20, 20, 1000)
_NUMBERS = np.concatenate([_ENDS, _DRAWN, _DRAWN / 40])


# Of two operands, and of floats alone, is zeta: test_atoms.py has it.
@pytest.mark.parametrize("name", sorted(SPECIAL.keys() - {"zeta"}))
def test_code_gives_what_the_formula_gives(name: str) -> None:
    kernel = pointwise((getattr(m, name)(symbol("x")),), (("x", "float64"),), ("float64",))
    assert kernel.compile_now(), "no machine code"
    expected = ATOMS[name].numpy(_NUMBERS)
    found = kernel(_NUMBERS)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_narrow_dtypes_are_rounded_once_from_doubles(dtype: str) -> None:
    kernel = pointwise((m.i0e(symbol("x")),), (("x", dtype),), (dtype,))
    assert kernel.compile_now(), "no machine code"
    x = np.linspace(-30, 30, 500).astype(dtype)
    wide = ATOMS["i0e"].numpy(x.astype(np.float64))
    np.testing.assert_allclose(kernel(x), wide.astype(np.float32).astype(dtype), rtol=np.finfo(dtype).eps)
