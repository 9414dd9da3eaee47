"""Zeros, infinities, nan, subnormals and huge numbers through every pointwise row, dense and strided, by NumPy, by
machine code and compiled, beside PyTorch: the same class (nan, which infinity, which zero) or a known reason.
"""

import math
import warnings

import ml_dtypes
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rushlight  # noqa: E402
from rushlight._engine.core.settings import settings  # noqa: E402
from rushlight._engine.ops import signature  # noqa: E402
from rushlight._engine.ops.table import NAMES  # noqa: E402

FLOATS = ("float32", "float64", "bfloat16", "float16")
REQUIRED = {"n": 2, "p": 3, "threshold": 0.3, "value": -1.5}
FINER = "more digits, or the true value where PyTorch overflows, underflows, or flushes subnormals"
ZEROS = "PyTorch takes another operand's zero in strided arrays, or in those of two bytes, than in dense ones"
KNOWN = {
    **dict.fromkeys(
        (
            "i0",
            "igamma",
            "igammac",
            "log1p",
            "sigmoid",
            "erf",
            "fmod",
            "remainder",
            "nn.functional.silu",
            "nn.functional.gelu",
            "nn.functional.tanhshrink",
            "special.ndtr",
            "special.zeta",
            "digamma",
            "mvlgamma",
            "polygamma",
        ),
        FINER,
    ),
    **dict.fromkeys(
        (
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "clamp_min",
            "clamp_max",
            "lerp",
            "nextafter",
            "nn.functional.softshrink",
        ),
        ZEROS,
    ),
}

COMPILED = (
    "add",
    "addcmul",
    "lerp",
    "pow",
    "remainder",
    "fmod",
    "fmax",
    "clamp_min",
    "logaddexp2",
    "sigmoid",
    "sinc",
    "nn.functional.hardswish",
    "nn.functional.relu6",
    "nn.functional.gelu",
    "nn.functional.tanhshrink",
)


def known(path):
    """Why a row may differ; Bessel functions and polynomials are all of them finer."""
    if any(part in path for part in ("bessel", "polynomial", "airy", "special.i")):
        return FINER
    return KNOWN.get(path)


def rows():
    """(path, arguments before the tensors, keywords, how many tensors) of each pointwise row."""
    done = set()
    for space, name in sorted(NAMES, key=lambda k: (k[0] != "torch", k[1][0] == "_", k)):
        row, variant = NAMES[space, name]
        if (
            row.kind == "pointwise"
            and variant == "function"
            and row.name not in done
            and space not in ("Tensor", "aten")
            and name not in ("clamp", "clip")
        ):
            done.add(row.name)
            given = {
                p.name: REQUIRED[p.name]
                for p in row.params
                if not p.is_tensor and p.default is signature.REQUIRED
            }
            yield (
                name if space == "torch" else f"{space}.{name}",
                [given.pop("n")] if "n" in given else [],
                given,
                sum(p.is_tensor for p in row.params),
            )


def resolve(package, path):
    for part in path.split("."):
        package = getattr(package, part)
    return package


def ends(dtype, count):
    """Special numbers as tensors of both packages, in all combinations of `count` operands."""
    info = ml_dtypes.finfo(dtype if dtype != "bfloat16" else ml_dtypes.bfloat16)
    values = [
        0.0,
        -0.0,
        math.inf,
        -math.inf,
        math.nan,
        1,
        -1,
        0.5,
        2.5,
        -3,
        float(info.max),
        -float(info.max),
        float(info.smallest_subnormal),
        -float(info.tiny),
        19.5,
        -20.5,
    ][: 16 if count < 3 else 9]
    grid = np.meshgrid(*[np.array(values * (4 if count == 1 else 1), float)] * count)
    theirs = [torch.from_numpy(g.ravel()).to(getattr(torch, dtype)) for g in grid]
    bits = [t.view(torch.int16) if t.dtype is torch.bfloat16 else t for t in theirs]
    mine = [rushlight.from_numpy(t.numpy().copy()).view(getattr(rushlight, dtype)) for t in bits]
    return mine, theirs


def strided(t):
    wide = t.new_zeros(2 * t.numel())
    wide[::2] = t
    return wide[::2]


def plain(t):
    return (t.float() if "16" in str(t.dtype) else t).detach().numpy()


def other(mine, theirs):
    """Where the classes differ, or numbers by much."""
    if mine.dtype.kind != "f":
        return mine != theirs
    with np.errstate(all="ignore"):
        same = (mine == theirs) & (np.signbit(mine) == np.signbit(theirs)) | np.isnan(mine) & np.isnan(theirs)
        usual = np.isfinite(mine) & np.isfinite(theirs) & (mine != 0) & (theirs != 0)
        return ~(same | usual & (np.abs(mine - theirs) <= 0.03 * np.abs(theirs)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("path", "first", "given", "count"), [pytest.param(*r, id=r[0]) for r in rows()])
def test_specials(path, first, given, count, dtype):
    warnings.simplefilter("ignore")
    mine, theirs = ends(dtype, count)
    for layout in (lambda t: t, strided)[: 2 if "32" in dtype else 1]:
        try:
            expected = plain(resolve(torch, path)(*first, *map(layout, theirs), **given))
        except (RuntimeError, NotImplementedError) as refused:
            with pytest.raises(type(refused)):
                resolve(rushlight, path)(*first, *mine, **given)
            return
        for kernels in ("numpy", *(["llvm"] if dtype == "float32" else [])):
            with settings.using(kernels=kernels):
                found = plain(resolve(rushlight, path)(*first, *map(layout, mine), **given))
            wrong = other(found, expected)
            at = [plain(t)[wrong][:3] for t in theirs]
            assert not wrong.any() or known(path), (
                f"{kernels}: {found[wrong][:3]}, not {expected[wrong][:3]} at {at}"
            )


@pytest.mark.parametrize(
    ("path", "first", "given", "count"), [pytest.param(*r, id=r[0]) for r in rows() if r[0] in COMPILED]
)
def test_compiled_specials_are_those_of_eager_kernels(path, first, given, count):
    warnings.simplefilter("ignore")
    mine, _ = ends("float32", count)

    def body(*tensors):
        return resolve(rushlight, path)(*first, *tensors, **given) * 1

    with settings.using(kernels="llvm"):
        expected, compiled = plain(body(*mine)), rushlight.compile(body)
        for _ in range(4):
            found = plain(compiled(*mine))
    assert found.tobytes() == expected.tobytes()
