"""Numerical ops: as recorded, and by laws that need no record."""

from __future__ import annotations

import cmath
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings

_GOLDENS = Path(__file__).parents[2] / "goldens"
sys.path.insert(0, str(_GOLDENS))
from numerics_cases import cases  # noqa: E402 - lives beside its recorded output
from ops_cases import differences, run  # noqa: E402

_RECORDED: dict[str, Any] = json.loads((_GOLDENS / "numerics.json").read_text())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", cases())
def test_as_recorded(text: str) -> None:
    found = differences(run(torch, text), _RECORDED[text])
    assert not found, "\n".join(found)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms_are_inverses(norm: str) -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(3, 5, 6)))
    for there, back, s in (
        ("fftn", "ifftn", None),
        ("rfftn", "irfftn", (3, 5, 6)),
        ("ihfftn", "hfftn", (3, 5, 6)),
    ):
        found = getattr(torch.fft, back)(getattr(torch.fft, there)(x, norm=norm), s, norm=norm)
        np.testing.assert_allclose(found.numpy(), x.numpy().astype(found.numpy().dtype), atol=1e-12)
    assert torch.fft.fft(x.float()).dtype is torch.complex64


def test_istft_inverts_stft() -> None:
    x = torch.from_numpy(np.random.default_rng(1).normal(size=(2, 64)))
    window = torch.hann_window(16, dtype=torch.float64)
    spectra = torch.stft(x, 16, 4, window=window, return_complex=True)
    np.testing.assert_allclose(
        torch.istft(spectra, 16, 4, window=window, length=64).numpy(), x.numpy(), atol=1e-12
    )


def test_identities_of_special_functions() -> None:
    """Wronskians, complements and recurrences tie the approximations to one another."""
    s = torch.special
    x = torch.linspace(0.05, 60, 4001, dtype=torch.float64)
    wronskian = s.bessel_j1(x) * s.bessel_y0(x) - s.bessel_j0(x) * s.bessel_y1(x)
    np.testing.assert_allclose((wronskian * x).numpy(), 2 / np.pi, rtol=1e-12)
    modified = s.i0e(x) * s.scaled_modified_bessel_k1(x) + s.i1e(x) * s.scaled_modified_bessel_k0(x)
    np.testing.assert_allclose((modified * x).numpy(), 1, rtol=1e-13)
    a = torch.linspace(0.1, 300, 4001, dtype=torch.float64)
    np.testing.assert_allclose((torch.igamma(a, x) + torch.igammac(a, x)).numpy(), 1, rtol=1e-13)
    step = torch.exp(a * x.log() - x - torch.lgamma(a + 1))
    np.testing.assert_allclose(
        (torch.igamma(a, x) - torch.igamma(a + 1, x)).numpy(), step.numpy(), atol=1e-13
    )
    np.testing.assert_allclose(
        (s.erfcx(x[:800]) * torch.exp(-(x[:800] ** 2))).numpy(),
        torch.erfc(x[:800]).numpy(),
        rtol=1e-12,
        atol=1e-300,
    )
    t = torch.linspace(-20, 2, 2001, dtype=torch.float64)
    # y'' = t y, by differences.
    y = s.airy_ai(t)
    bend = (y[2:] - 2 * y[1:-1] + y[:-2]) / (t[1] - t[0]) ** 2
    np.testing.assert_allclose(bend.numpy(), (t * y)[1:-1].numpy(), atol=2e-2)
    np.testing.assert_allclose(s.ndtri(s.ndtr(t)).numpy(), t.numpy(), rtol=1e-9)


def test_what_has_no_derivative() -> None:
    x = torch.ones(2, requires_grad=True)
    assert not torch.special.bessel_j0(x).requires_grad
    found = torch.igamma(x, torch.ones(2)).sum()
    with pytest.raises(NotImplementedError, match="derivative"):
        found.backward()


def test_as_strided_scatter_of_a_transpose() -> None:
    """Sizes and strides are those of the memory, whatever the operand's own are."""
    x = torch.arange(6, dtype=torch.float64).reshape(2, 3)
    turned, src = x.t().contiguous().t().requires_grad_(), torch.full((2,), -1.0, dtype=torch.float64)
    src.requires_grad_()
    assert turned.stride() == (1, 2)
    found = torch.as_strided_scatter(turned, src, (2,), (2,), 1)
    assert found.tolist() == [[0, 1, 2], [-1, -1, 5]] and found.stride() == (1, 2)
    (found * (x + 1)).sum().backward()
    assert turned.grad.tolist() == [[1, 2, 3], [0, 0, 6]] and src.grad.tolist() == [4, 5]


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: torch.quantile(torch.ones(3), 1.5), RuntimeError, "range"),
        (lambda: torch.quantile(torch.ones(3).half(), 0.5), RuntimeError, "float or double"),
        (lambda: torch.cov(torch.ones(2, 2, 2)), RuntimeError, "two or fewer"),
        (lambda: torch.cdist(torch.ones(2, 3), torch.ones(2, 4)), RuntimeError, "same number of columns"),
        (lambda: torch.histogram(torch.ones(3), 0), RuntimeError, "must be > 0"),
        (lambda: torch.fft.rfft(torch.ones(3) + 1j), RuntimeError, "expects a real input"),
        (lambda: torch.fft.fft(torch.ones(3), norm="x"), RuntimeError, "normalization mode"),
        (lambda: torch.fft.fft(torch.ones(3).half()), RuntimeError, "Unsupported dtype"),
        (lambda: torch.fft.fftn(torch.ones(3, 3), dim=(0, 0)), RuntimeError, "unique"),
        (lambda: torch.stft(torch.ones(9), 4), RuntimeError, "return_complex"),
        (lambda: torch.polygamma(-1, torch.ones(2)), RuntimeError, "negative n"),
        (
            lambda: torch.special.airy_ai(torch.ones(2).half()),
            NotImplementedError,
            "not implemented for 'Half'",
        ),
        (
            lambda: torch.nn.functional.grid_sample(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 3)),
            RuntimeError,
            "size 2",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_mistakes(call: Any, kind: type, words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_norms_of_two_byte_floats_do_not_overflow() -> None:
    x = torch.ones(2, 3, dtype=torch.float16) * 300
    found = torch.nn.functional.cosine_similarity(x, x)
    torch.testing.assert_close(found, torch.ones(2, dtype=torch.float16), rtol=2e-3, atol=0)


def test_normalising_nothing_has_second_gradients() -> None:
    F = torch.nn.functional
    for z, of in (
        (torch.zeros(0, 4), lambda z: F.layer_norm(z, (4,))),
        (torch.zeros(0, 4, 3), lambda z: F.group_norm(z, 2)),
        (torch.zeros(2, 0), lambda z: F.layer_norm(z, (0,))),
    ):
        z.requires_grad_()
        (first,) = torch.autograd.grad(of(z).sum(), z, create_graph=True)
        assert torch.autograd.grad(first.sum(), z)[0].shape == z.shape


def test_special_functions_near_their_poles() -> None:
    """True values from mpmath."""

    def of(*values: float) -> Any:
        return torch.tensor(values, dtype=torch.float64)

    for found, true in (
        (
            torch.igammac(of(1e-30, 1e-3, 0.25), of(0.5, 1e-5, 0.75)),
            (5.597735947761608e-31, 0.010876955304217331, 0.1000634867155018),
        ),
        (torch.polygamma(2, of(-3.8e-12, -1.9999)), (3.644846187490888e34, -2000000000000.8136)),
        (torch.special.zeta(of(np.inf, np.inf, 1e38), of(0.5, 1.0, 2.0)), (np.inf, 1.0, 0.0)),
        (torch.special.hermite_polynomial_he(of(1 + 2**-30), of(2)), (2.0**-29 + 2.0**-60,)),
    ):
        np.testing.assert_allclose(found.numpy(), true, rtol=4e-15)


@pytest.mark.parametrize("name", ["chebyshev_polynomial_t", "legendre_polynomial_p", "hermite_polynomial_h"])
def test_degrees_beyond_all_bounds_end(name: str) -> None:
    """A degree past 64 bits is none; one that is only huge ends where the recurrence has nothing more to say."""
    found = getattr(torch.special, name)(torch.tensor([2.5, 2.5]), torch.tensor([3e38, 1e15]))
    assert found[0] == 0 and not found[1].isfinite()


def test_nan_stays_nan_in_activations() -> None:
    x, F = torch.tensor([np.nan, 0.1, -0.7]), torch.nn.functional
    np.testing.assert_allclose(F.softshrink(x).numpy(), [np.nan, 0, -0.2], rtol=1e-6)
    np.testing.assert_allclose(F.threshold(x, 0.0, 5.0).numpy(), [np.nan, 0.1, 5])


@pytest.mark.parametrize("length", [4, 20])
@pytest.mark.parametrize("part", [0, 1])
def test_each_moment_of_rows_has_a_gradient_of_its_own(length, part):
    x = torch.randn(3, length, dtype=torch.float64, requires_grad=True)
    torch.var_mean(x, -1)[part].sum().backward()
    centered = (x - x.mean(-1, True)).detach()
    wanted = 2 * centered / (length - 1) if part == 0 else torch.full_like(centered, 1 / length)
    assert torch.allclose(x.grad, wanted)


@pytest.mark.parametrize("dim", [0, (0, 1), (1, 0), 1, (0, 2)])
def test_variances_of_many_columns(dim: Any) -> None:
    """By a kernel of their own or taken apart, tracked, compiled: the same numbers, near the true ones."""
    x = torch.randn(96, 40, 50) * 0.01 + 100
    true = x.double().numpy().var(dim, ddof=1)
    with settings.using(kernels="llvm"):
        found = [
            torch.var(x, dim),
            torch.var(x.requires_grad_(), dim).detach(),
            *[torch.compile(lambda x: torch.var(x, dim).detach())(x) for _ in range(4)],
        ]
    for each in found:
        assert np.allclose(each.numpy(), true, 1e-4)
    assert all(torch.equal(found[0], f) for f in found[1:])


def test_gradients_outside_of_the_domain_and_on_cuts() -> None:
    """What PyTorch's formulas give where the function itself is nan, or has a cut."""
    x = torch.tensor([-3.0, -1.5, 0.5, 2.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.acosh(x), x, torch.ones(4))
    wanted = (x.detach() ** 2 - 1).rsqrt()
    torch.testing.assert_close(slope, wanted, equal_nan=True)
    assert slope.isnan().tolist() == [False, False, True, False]
    z = torch.tensor([-3.0, 4.5], dtype=torch.complex128, requires_grad=True)
    for name, sign in (("asin", 1), ("acos", -1)):
        (slope,) = torch.autograd.grad(getattr(torch, name)(z), z, torch.ones(2, dtype=z.dtype))
        torch.testing.assert_close(slope.imag, sign * (z.detach().real ** 2 - 1).rsqrt())
    (slope,) = torch.autograd.grad(torch.acosh(z), z, torch.ones(2, dtype=z.dtype))
    torch.testing.assert_close(slope.real, z.detach().real.sign() * (z.detach().real ** 2 - 1).rsqrt())


def test_elu_and_its_kin_at_zero() -> None:
    for name, slope in (("elu", 0.5), ("celu", 1.0), ("selu", 1.7580993408473766)):
        x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
        options = {} if name == "selu" else {"alpha": 0.5}
        y = getattr(torch.nn.functional, name)(x, **options)
        (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        assert y.tolist() == [0.0, 0.0] and first.tolist() == [slope] * 2 and second.tolist() == [0.0] * 2


def test_curvature_of_log_ndtr_far_out() -> None:
    x = torch.tensor([-30.5, 30.5, 100.0, 1e20], requires_grad=True)
    (first,) = torch.autograd.grad(torch.special.log_ndtr(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(first, torch.tensor([30.532719, 0, 0, 0]))
    torch.testing.assert_close(second, torch.tensor([-0.99893, 0, 0, 0]), rtol=1e-4, atol=0)


@pytest.mark.parametrize("kernels", ["numpy", "llvm"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_running_sums_begin_with_zero(kernels, dtype):
    x = torch.full((3, 5), -0.0, dtype=dtype)
    with settings.using(kernels=kernels):
        assert not any(torch.signbit(x.cumsum(dim)).any() for dim in (0, 1) for _ in range(3))
    assert torch.signbit(x[0, 0].cumsum(0))


def test_histogramdd_takes_all_by_position() -> None:
    x = torch.tensor([[0.1, 0.9], [0.2, 0.8], [0.9, 0.1]])
    found, edges = torch.histogramdd(x, [2, 2], [0.0, 1.0, 0.0, 1.0], None, True)
    torch.testing.assert_close(found, torch.tensor([[0.0, 8 / 3], [4 / 3, 0.0]]))
    assert len(edges) == 2
    assert torch._prims_common.dtype_to_type(found.dtype) is float


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_log1p_near_zero(dtype):
    """The real part, half of x (2 + x) + y^2 and less, is not lost in 1 + x."""
    z = torch.tensor([1e-8 + 1e-8j, 1e-12j, 1e-20 + 0j, 0.25 - 0.25j, -2 + 1e-3j], dtype=dtype)
    wanted: Any = [1e-8 + 1e-8j, 5e-25 + 1e-12j, 1e-20, cmath.log(1.25 - 0.25j), cmath.log(-1 + 1e-3j)]
    found = torch.log1p(z)
    wanted = torch.tensor(wanted, dtype=dtype)
    torch.testing.assert_close(found.real, wanted.real, rtol=1e-6, atol=0)
    torch.testing.assert_close(found.imag, wanted.imag)
    assert torch.equal(torch.log1p(z[0]), found[0])


def test_complex_quotients_of_one():
    """Zeros keep the signs, and infinities are where they are, as in a division by Smith's algorithm."""
    z = torch.tensor([complex(-2, -0.0), complex(0, 0), complex(math.inf, 1), complex(1, -math.inf)])
    for found in (z.reciprocal(), z**-1):
        assert str(found.tolist()) == "[(-0.5-0j), (inf+nanj), 0j, (-0+0j)]"
    assert str(z.rsqrt()[0].item()) == "(-0+0.7071067690849304j)"


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_gradients_of_samples_at_points(mode: str, padding: str) -> None:
    torch.manual_seed(0)
    image = torch.randn(2, 4, 3, 4, dtype=torch.float64)[:, :2].requires_grad_()
    grid = (torch.rand(2, 2, 4, 2, dtype=torch.float64) * 3 - 1.5).requires_grad_()

    def sample(image: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.grid_sample(image, grid, mode, padding, align_corners=False)

    assert torch.autograd.gradcheck(sample, (image, grid))
    few = image.detach()[:1].requires_grad_(), grid.detach()[:1, :, :2].requires_grad_()
    assert torch.autograd.gradgradcheck(sample, few)
    once = [torch.autograd.grad(sample(image, grid).sin().sum(), (image, grid)) for _ in range(3)]
    assert all(torch.equal(a, b) for later in once[1:] for a, b in zip(once[0], later, strict=True))


@pytest.mark.parametrize("of", [torch.float32, torch.bfloat16, torch.int16, torch.uint8, torch.bool])
@pytest.mark.parametrize("width", [1, 3, 2000])
def test_different_rows_are_in_lexical_order(of, width):
    torch.manual_seed(width)
    least = 0 if of in (torch.uint8, torch.bool) else -2
    x = torch.randint(least, 2, (40, 2)).repeat_interleave(width, 1)[:, :width].to(of)
    values, back, counts = torch.unique(x, dim=0, return_inverse=True, return_counts=True)
    assert values.tolist() == sorted({tuple(row): row for row in x.tolist()}.values())
    assert torch.equal(values[back], x) and counts.tolist() == torch.bincount(back).tolist()


def test_different_rows_of_zeros_of_two_signs_and_nan():
    x = torch.tensor(
        [[0.0, 1.0], [-0.0, 1.0], [float("nan"), 1.0], [float("nan"), 1.0], [-float("inf"), 1.0]]
    )
    values, back = torch.unique(x, dim=0, return_inverse=True)
    assert back.tolist() == [1, 1, 2, 3, 0] and values[:2].tolist() == [[-float("inf"), 1.0], [0.0, 1.0]]
