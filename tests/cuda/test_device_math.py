"""The functions that device kernels have in the place of the C library's, against NumPy's."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")
from rushlight._engine.devices.cuda.kernels import device_math, formulas, ptx
from rushlight._engine.kernels.emit import target
from rushlight._engine.ops.atoms import ATOMS

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


def formula(name: str) -> Any:
    """A function of doubles or of whole numbers, with what it calls, compiled for the host."""
    whole = name in device_math._WHOLE
    count = (device_math._WHOLE if whole else device_math._FUNCTIONS)[name][0]
    kind, c = ("i64", ctypes.c_int64) if whole else ("double", ctypes.c_double)
    given = ", ".join(f"{kind} %x{k}" for k in range(count))
    lines = [f"declare {kind} @{name}({', '.join([kind] * count)})"]
    lines += [f"define {kind} @tested_{name}({given}) {{", f"  %r = call {kind} @{name}({given})"]
    lines += [f"  ret {kind} %r", "}", '!0 = !{!"branch_weights", i32 1, i32 100000}']
    text = device_math.defined("\n".join(lines), {name})
    (address,) = target.load(target.assemble(text, tidy=True), (f"tested_{name}",), {})
    return ctypes.CFUNCTYPE(c, *[c] * count)(address)


def operands(name: str) -> tuple[Any, ...]:
    """Numbers in the domain of a function, and some at its borders."""
    draw = np.random.default_rng(0)
    x = np.concatenate(
        [
            draw.uniform(-12, 30, 200),
            draw.uniform(-1, 1, 100),
            [0.0, -0.0, np.inf, -np.inf, np.nan, 1, 2, -1, -2],
        ]
    )
    y = np.concatenate([draw.uniform(0, 20, 300), draw.integers(0, 12, 9)])
    if name.startswith("gammainc"):
        wide = np.where(draw.random(x.size) < 0.1, 2000, 1)
        return np.abs(x) * wide, np.abs(y) * np.abs(x) * wide
    if name == "zeta":
        return y + 1.1, x
    return (x / 10, np.floor(y)) if formulas.FORMULAS[name][0] == 2 else (x,)


@pytest.mark.parametrize("name", sorted(formulas.FORMULAS))
def test_a_formula_is_the_cpus(name: str) -> None:
    given, function = operands(name), formula(name)
    found = np.array([function(*map(float, each)) for each in zip(*given, strict=True)])
    with np.errstate(all="ignore"):
        want = np.asarray(ATOMS[name].numpy(*given))
    np.testing.assert_allclose(found, want, 2e-10, 1e-300)


def test_powers_of_doubles_are_to_the_last_place() -> None:
    draw, power = np.random.default_rng(0), formula("pow")
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 3, -3, 0.5, 2, 1e300, 5e-324])
    x = np.concatenate([np.exp(draw.uniform(-300, 300, 2000)), np.repeat(special, 13), [-2.5] * 4])
    y = np.concatenate([draw.uniform(-3, 3, 2000), np.tile(special, 13), [2, 3, -1, 0.5]])
    found = np.array([power(*map(float, each)) for each in zip(x, y, strict=True)])
    with np.errstate(all="ignore"):
        want = np.power(x, y)
        near = np.abs(found - want) <= 2 * np.spacing(np.abs(want))
    assert ((found == want) | (np.isnan(found) & np.isnan(want)) | near).all()


def test_whole_numbers() -> None:
    power, unsigned, gcd = map(formula, ("whole_pow", "uwhole_pow", "gcd"))
    assert [power(a, b) for a, b in ((3, 4), (-2, 3), (7, 0), (0, 0), (1, -3), (-1, -3), (5, -1))] == [
        81, -8, 1, 1, 1, -1, 0
    ]  # fmt: skip
    assert power(3, 45) == (3**45 + 2**63) % 2**64 - 2**63 and unsigned(-1, -1) == -1
    assert [gcd(a, b) for a, b in ((12, 18), (-4, 6), (0, 5), (0, 0))] == [6, 2, 5, 0]


PLAIN = sorted(n for n in device_math._FUNCTIONS if n not in formulas.FORMULAS and n not in ("pow", "erfc"))


@pytest.mark.parametrize("name", PLAIN)
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
