"""The error of pointwise ops in units in the last place, beside PyTorch's, against mpmath.

    python -m benchmarks.ulps            prints a table; --write writes docs/numerics.md; NAMES choose ops

Needs mpmath and an installed PyTorch. An op is tried over its domain: all magnitudes of either sign
(subnormal, tiny, huge), a uniform middle, and the neighbourhoods of its poles, zeros and edges. An error
counts against the spacing of the dtype at the true value; where that overflows, the result must do so too.
Rushlight is measured twice: by NumPy, as without llvmlite, and by machine code.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

from benchmarks import truths

mp.mp.dps = 40
ALL, POSITIVE, UNIT, INF = (-math.inf, math.inf), (0.0, math.inf), (-1.0, 1.0), math.inf
Reference = Callable[..., Any]


def _log_ndtr(x: Any) -> Any:
    return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def _softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x))


# name: (reference, domain, points to look around)
OPS: dict[str, tuple[Reference, tuple[float, float], tuple[float, ...]]] = {
    "exp": (mp.exp, (-800, 800), (0,)),
    "exp2": (lambda x: mp.power(2, x), (-1200, 1200), (0,)),
    "expm1": (mp.expm1, (-800, 800), (0,)),
    "log": (mp.log, POSITIVE, (1,)),
    "log1p": (mp.log1p, (-1, INF), (0, -1)),
    "log2": (lambda x: mp.log(x) / mp.log(2), POSITIVE, (1,)),
    "log10": (mp.log10, POSITIVE, (1,)),
    "sqrt": (mp.sqrt, POSITIVE, ()),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), POSITIVE, ()),
    "reciprocal": (lambda x: 1 / x, ALL, ()),
    "sin": (mp.sin, (-1e6, 1e6), (0, math.pi, 2 * math.pi)),
    "cos": (mp.cos, (-1e6, 1e6), (math.pi / 2, 3 * math.pi / 2)),
    "tan": (mp.tan, (-1e6, 1e6), (math.pi / 2, math.pi)),
    "asin": (mp.asin, UNIT, (1, -1, 0.5)),
    "acos": (mp.acos, UNIT, (1, -1, 0)),
    "atan": (mp.atan, ALL, (1,)),
    "sinh": (mp.sinh, (-800, 800), (0,)),
    "cosh": (mp.cosh, (-800, 800), (0,)),
    "tanh": (mp.tanh, (-50, 50), (0,)),
    "asinh": (mp.asinh, ALL, (0,)),
    "acosh": (mp.acosh, (1, INF), (1,)),
    "atanh": (mp.atanh, UNIT, (0, 1, -1)),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), (-800, 800), (0,)),
    "logit": (lambda x: mp.log(x / (1 - x)), (0, 1), (0.5, 1)),
    "erf": (mp.erf, (-10, 10), (0,)),
    "erfc": (mp.erfc, (-10, 28), (0,)),
    "erfinv": (mp.erfinv, UNIT, (0, 1, -1)),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), (-100, 1e6), (1, 2, 0.5)),
    "digamma": (mp.digamma, (-50, 1e6), (1.4616321449683623, 1)),
    "sinc": (lambda x: mp.sin(mp.pi * x) / (mp.pi * x) if x else mp.mpf(1), (-100, 100), (1, 2)),
    "i0": (lambda x: mp.besseli(0, x), (-700, 700), ()),
    "special.i0e": (lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), (-700, 700), ()),
    "special.i1": (lambda x: mp.besseli(1, x), (-700, 700), (0,)),
    "special.i1e": (lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), (-700, 700), (0,)),
    "special.ndtr": (lambda x: mp.ncdf(x), (-37, 10), (0,)),
    "special.log_ndtr": (_log_ndtr, (-1000, 10), (0, -1)),
    "special.ndtri": (lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1), (1e-6, 1), (0.5,)),
    "special.erfcx": (lambda x: mp.erfc(x) * mp.exp(x * x), (-20, 100), (0,)),
    "special.entr": (lambda x: -x * mp.log(x), POSITIVE, (1,)),
    "special.bessel_j0": (lambda x: mp.besselj(0, x), (-50, 50), (0,)),
    "special.bessel_j1": (lambda x: mp.besselj(1, x), (-50, 50), (0,)),
    "special.bessel_y0": (lambda x: mp.bessely(0, x), (0, 50), ()),
    "special.modified_bessel_k0": (lambda x: mp.besselk(0, x), (0, 600), ()),
    "special.modified_bessel_k1": (lambda x: mp.besselk(1, x), (0, 600), ()),
    "special.airy_ai": (mp.airyai, (-10, 50), ()),
    "nn.functional.softplus": (_softplus, (-700, 20), (0,)),
    "nn.functional.silu": (lambda x: x / (1 + mp.exp(-x)), (-700, 700), (0,)),
    "nn.functional.gelu": (lambda x: x * mp.ncdf(x), (-12, 12), (0,)),
    "nn.functional.mish": (lambda x: x * mp.tanh(_softplus(x)), (-80, 80), (0,)),
    "nn.functional.elu": (lambda x: x if x > 0 else mp.expm1(x), (-100, 100), (0,)),
    "nn.functional.logsigmoid": (lambda x: -_softplus(-x), (-700, 700), (0,)),
    "pow": (mp.power, POSITIVE, (1,)),
    "atan2": (mp.atan2, ALL, ()),
    "hypot": (mp.hypot, ALL, ()),
    "logaddexp": (lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), (-500, 500), ()),
    "xlogy": (lambda x, y: x * mp.log(y), POSITIVE, ()),
    "true_divide": (lambda x, y: x / y, ALL, ()),
}
BINARY = ("pow", "atan2", "hypot", "logaddexp", "xlogy", "true_divide")
POINTS, DERIVED = 600, 1200


DERIVED_OPS = {subject.path: subject for subject in truths.rows(set(OPS))}


def points(domain: tuple[float, float], around: tuple[float, ...], dtype: Any, seed: int) -> Any:
    """Arguments to try, of the dtype and inside of the domain."""
    rng, info = np.random.default_rng(seed), np.finfo(dtype)
    low, high = (max(domain[0], float(info.min)), min(domain[1], float(info.max)))
    count, largest = POINTS, math.log2(min(max(abs(low), abs(high)), float(info.max)))
    smallest = math.log2(float(info.smallest_subnormal))
    parts = [
        rng.uniform(max(low, -10), min(high, 10), count),
        2.0 ** rng.uniform(smallest, largest, count),
        -(2.0 ** rng.uniform(smallest, largest, count // 2)),
        2.0 ** rng.uniform(-4, 4, count),
    ]
    for p in around:
        parts.append(p + rng.choice([-1, 1], 200) * 2.0 ** rng.uniform(math.log2(float(info.eps)), -1, 200))
    with np.errstate(all="ignore"):
        x = np.concatenate(parts).astype(dtype)
    return x[(x > low) & (x < high) & np.isfinite(x) & (x != 0)]


def truth(f: Reference, *arguments: Any) -> list[Any]:
    """The true values, as mpmath's numbers."""
    found = []
    for values in zip(*arguments, strict=True):
        try:
            found.append(mp.re(f(*(mp.mpf(float(v)) for v in values))))
        except (ValueError, ZeroDivisionError, OverflowError, mp.mp.NoConvergence):
            found.append(mp.nan)
    return found


def errors(found: Any, true: list[Any], dtype: Any) -> Any:
    """The distance to the truth in units in the last place; inf for a wrong infinity or nan."""
    info, out = np.finfo(dtype), np.zeros(len(true))
    tiny, most, digits = mp.mpf(float(info.smallest_subnormal)), mp.mpf(float(info.max)), info.nmant
    for i, (a, t) in enumerate(zip(found.tolist(), true, strict=True)):
        if mp.isnan(t):
            continue
        if abs(t) > most:
            out[i] = 0 if abs(a) >= float(info.max) else math.inf
        elif not math.isfinite(a):
            out[i] = 1 if abs(t) > most * (1 - 2 * mp.mpf(float(info.eps))) else math.inf
        else:
            # The exponent at which spacings are those of subnormals has a floor.
            unit = max(mp.ldexp(1, int(mp.floor(mp.log(abs(t), 2))) - digits) if t else tiny, tiny)
            out[i] = float(abs(mp.mpf(a) - t) / unit)
    return out


def resolve(package: Any, name: str) -> Callable[..., Any]:
    """An op by its path."""
    found: Callable[..., Any] = attrgetter(name)(package)
    return found


def compiled(name: str, given: dict[str, Any], *tensors: Any) -> bool:
    """Give the op's kernel for these operands machine code; whether there is any."""
    from rushlight._engine.dispatch.runners import pointwise
    from rushlight._engine.ops.table import NAMES

    row, _ = NAMES.get(truths.key(name), (None, None))
    chosen = (
        None
        if row is None or row.kind != "pointwise"
        else pointwise.variant(
            row, {p.name: given.get(p.name, p.default) for p in row.params if not p.is_tensor}
        )
    )
    if chosen is None:
        return False
    spare = iter(tensors)
    operands = [given[n] if n in given else next(spare) for n in chosen.operands]
    return bool(chosen.compiled_for(operands).kernel.compile_now())


def sample(subject: truths.Subject, dtype: str) -> list[Any]:
    """Arguments for a row of the table: of all magnitudes, and pairs that lie close together."""
    of, rng = np.dtype(dtype), np.random.default_rng(4)
    parts = [points(domain, (0, 1, -1, 0.5, 2, 3), of, seed) for seed, domain in enumerate(subject.domains)]
    parts = [rng.permutation(part)[: min(map(len, parts), default=0)][:DERIVED] for part in parts]
    if len(parts) > 1 and subject.domains[0] == subject.domains[1]:
        near = len(parts[0]) // 4
        parts[1][:near] = parts[0][:near] * (1 + np.finfo(of).eps * rng.integers(-9, 9, near)).astype(of)
    return parts


def specials(run: Callable[[Any, list[Any]], Any], domains: Any, dtype: str) -> str:
    """Where zeros, infinities, nan, the largest and the smallest numbers come out other than PyTorch's."""
    import torch

    import rushlight

    info = np.finfo(dtype)
    ends = [0.0, -0.0, INF, -INF, math.nan, 1.0, -1.0, float(info.max), float(info.smallest_subnormal)]
    few = {truths.DEGREES: (-1, 0, 1, 5), truths.UNIT: (0, 1, ends[-1])}
    of = [np.array(few.get(domain, ends), dtype) for domain in domains]
    grid = [np.ascontiguousarray(a.ravel()) for a in np.meshgrid(*of)]
    mine, theirs = (run(p, [p.from_numpy(a.copy()) for a in grid]).numpy() for p in (rushlight, torch))
    plain = np.isfinite(mine) & np.isfinite(theirs) & (mine != 0) & (theirs != 0)
    same = plain | np.isnan(mine) & np.isnan(theirs)
    same |= (mine == theirs) & (np.signbit(mine) == np.signbit(theirs))
    bad = np.flatnonzero(~same)
    at = "" if not bad.size else ", ".join(f"{a[bad[0]]:.3g}" for a in grid)
    return f"{bad.size} specials: f({at}) = {mine[bad[0]]:.3g}, {theirs[bad[0]]:.3g}" if bad.size else ""


def measure(name: str, dtype: str) -> dict[str, Any]:
    """{who: (largest error, the argument where)} of one op, and what specials are `other` than PyTorch's."""
    import torch

    import rushlight
    from rushlight._engine.core.settings import settings

    subject = DERIVED_OPS.get(name)
    if subject is not None:
        arguments, given = sample(subject, dtype), subject.given
        with mp.workdps(60):
            true = truth(lambda *values: truths.true(subject, *values), *arguments)
    else:
        f, domain, around = OPS[name]
        arguments, given = [points(domain, around, np.dtype(dtype), 1)], {}
        if name in BINARY:
            second = points(domain if name != "pow" else (-30, 30), around, np.dtype(dtype), 2)
            count = min(len(arguments[0]), len(second))
            order = np.random.default_rng(3).permutation(len(second))[:count]
            arguments = [arguments[0][:count], second[order]]
        true = truth(f, *arguments)
    first = [given["n"]] if "n" in given else []  # polygamma has it before its operand

    def run(package: Any, tensors: list[Any]) -> Any:
        return resolve(package, name)(*first, *tensors, **{k: v for k, v in given.items() if k != "n"})

    mine = [rushlight.from_numpy(a.copy()) for a in arguments]
    with settings.using(kernels="numpy"):
        results = {"NumPy": run(rushlight, mine).numpy()}
    if compiled(name, given, *mine):
        results["machine"] = run(rushlight, mine).numpy()
    results["PyTorch"] = run(torch, [torch.from_numpy(a.copy()) for a in arguments]).numpy()
    found: dict[str, Any] = {}
    for who, values in results.items():
        wrong = errors(values, true, values.dtype)
        worst = int(wrong.argmax())
        found[who] = (float(wrong[worst]), *[float(a[worst]) for a in arguments])
    domains = subject.domains if subject else (ALL,) * len(arguments)
    return found | {"other": specials(run, domains, dtype)}


HEAD = """# Numerics

Written by `python -m benchmarks.ulps --write`: the largest error found of each op, in units in the last place
of the result, against mpmath with 40 digits, over the op's domain (subnormal, tiny and huge arguments and the
neighbourhoods of poles, zeros and edges included), and the (first) argument where. *NumPy* is what the first
calls of an op run on, *machine* the code that hot ones do. `inf` is an infinity or nan where there should be
none, or none where there should be one. The last column says where an op is worse than PyTorch's by more
than 2 units and a fifth, or else how many combinations of zeros, infinities, nan, 1, -1, the largest and the
smallest numbers come out in another class (nan, infinite, zero of one sign or the other), and the first of
them: ours, PyTorch's. The ops after `true_divide` are all other pointwise rows of the table, their true
values derived from their scalar expressions (`benchmarks/truths.py`), and losses. Relative errors near a zero
of a function (digamma, Bessel functions, sums) are unbounded for everybody. Sums of a product (addcmul, lerp,
add with alpha) are rounded once, in PyTorch's order.

What stays other than PyTorch's of specials: it flushes subnormals in log1p and in quotients of remainder and
fmod, overflows early in exp of sigmoid and silu, in Bessel functions and in polynomials (where the true value
is finite, or has a sign), and takes the sign of a zero from another operand in strided arrays than in dense
ones (maximum, minimum, clamp by tensors, lerp, softshrink): Rushlight's is the dense one, but for clamp.

"""


def row(name: str, dtype: str, found: dict[str, Any]) -> str:
    """A line of the table."""
    cells = [
        f"{found[who][0]:.3g} at {', '.join(f'{x:.4g}' for x in found[who][1:])}"
        if who in found
        else "as NumPy"
        for who in ("NumPy", "machine", "PyTorch")
    ]
    mine = max(found[who][0] for who in ("NumPy", "machine") if who in found)
    # Where neither has any correct digit, as near a zero, a few per cent more say nothing.
    theirs = found["PyTorch"][0]
    verdict = "worse" if mine > theirs + 2 and mine > 1.2 * theirs else ""
    return f"| {name} | {dtype} | {' | '.join(cells)} | {verdict or found['other']} |"


def main() -> int:
    """Measure and print; exit status 1 where Rushlight is worse by more than 2 units."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=[*OPS, *DERIVED_OPS])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = ["| op | dtype | NumPy | machine | PyTorch | |", "|---|---|---|---|---|---|"]
    print("\n".join(lines))
    for name in options.names:
        for dtype in ("float32", "float64"):
            lines.append(row(name, dtype, measure(name, dtype)))
            print(lines[-1], flush=True)
    if options.write:
        page = Path(__file__).resolve().parents[1] / "docs" / "numerics.md"
        page.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    return int(any(line.endswith("| worse |") for line in lines))


if __name__ == "__main__":
    raise SystemExit(main())
