"""The functions that device kernels have in the place of the C library's, against NumPy's."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")
from rushlight._engine.devices.cuda.kernels import device_math, ptx
from rushlight._engine.kernels.emit import target

# The most that doubles may be off, in units of the last place; floats are rounded right.
ULPS = {"sin": 2, "cos": 2, "tan": 4, "hypot": 2, "log10": 2, "atan2": 2}
NUMPY = {"atan2": "arctan2"}


def compiled(name: str) -> Any:
    """The function, compiled for the host."""
    count, _ = device_math._FUNCTIONS[name]
    kind = ctypes.c_float if name.endswith("f") else ctypes.c_double
    declarations, body = device_math.definition(name)
    body = body.replace("define internal", "define").replace(f"@{name}(", f"@tested_{name}(")
    text = "\n".join([*declarations, body, '!0 = !{!"branch_weights", i32 1, i32 100000}'])
    (address,) = target.load(target.assemble(text, tidy=True), (f"tested_{name}",), {})
    return ctypes.CFUNCTYPE(kind, *[kind] * count)(address)


@pytest.mark.parametrize("name", sorted(device_math.NAMES))
def test_a_function_is_numpys(name: str) -> None:
    single, base = name.endswith("f"), name.removesuffix("f")
    of, draw = np.float32 if single else np.float64, np.random.default_rng(0)
    most = 88 if single else (31 if base in ("sin", "cos", "tan") else 60)
    least = 1.5 if base in ("sin", "cos", "tan") else -most
    given = [
        (np.exp(draw.uniform(least, most, 1000)) * draw.choice([-1, 1], 1000)).astype(of) for _ in range(2)
    ]
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1], of)
    if device_math._FUNCTIONS[name][0] == 2:
        given[0][:49], given[1][:49] = np.repeat(special, 7), np.tile(special, 7)
    else:
        given = given[:1]
    function = compiled(name)
    found = np.array([function(*map(float, each)) for each in zip(*given, strict=True)], of)
    with np.errstate(all="ignore"):
        wide = given if base == "nextafter" or not single else [g.astype(np.float64) for g in given]
        want = getattr(np, NUMPY.get(base, base))(*wide).astype(of)
        apart = np.abs(found.astype(np.float64) - want) / np.spacing(np.abs(want))
    same = (found == want) | (np.isnan(found) & np.isnan(want))
    assert (same | (apart <= (1 if single else ULPS.get(base, 0)))).all()
    assert (np.signbit(found) == np.signbit(want))[~np.isnan(want)].all()


def test_they_are_ptx() -> None:
    text = "\n".join(
        ["declare float @sinf(float)", "define ptx_kernel void @kernel(ptr addrspace(1) %p) {"]
        + ["  %x = load float, ptr addrspace(1) %p", "  %y = call float @sinf(float %x)"]
        + ["  store float %y, ptr addrspace(1) %p", "  ret void", "}"]
        + ['!0 = !{!"branch_weights", i32 1, i32 100000}']
    )
    found = ptx.ptx(text)
    assert re.search(r"\.visible \.entry kernel\(", found) and "call" not in found
    if ptx.assembler() is not None:
        assert ptx.assemble(found).spills == 0
