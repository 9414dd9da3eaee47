"""What is rounded when, and which zero comes out: as PyTorch has it, by both tiers."""

import math

import ml_dtypes
import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings
from rushlight._engine.numerics.fma import fma

F = torch.nn.functional
POLYGAMMA = {
    -1.5: -0.2362040516417274,
    -1.4999: -0.21674462302498249,
    -2.508: -1.6675025516366357,
    -7.5: -0.015564511795903924,
}
BOTH = pytest.mark.parametrize("kernels", ["numpy", "llvm"])


def signs(t):
    """The signs of zeros, as text."""
    return "".join("-" if s else "+" for s in torch.signbit(t).tolist())


@BOTH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_signs_of_zeros(kernels, dtype):
    """One operand's zero stays; a remainder has its dividend's."""
    zeros = torch.tensor([-0.0, 0.0] * 9, dtype=dtype)
    with settings.using(kernels=kernels):
        found = {
            "fmax": torch.fmax(zeros, -zeros),
            "fmin": torch.fmin(zeros, -zeros),
            "relu": torch.relu(zeros),
            "relu6": F.relu6(zeros),
            "clamp": zeros.clamp(0, 0),
            "clamp_min": zeros.clamp(min=0.0),
            "remainder": zeros % 3,
            "negative": zeros % -3,
            "infinite": zeros % math.inf,
            "sqrt": zeros**0.5,
            "cube": zeros**3,
            "hardswish": F.hardswish(zeros),
            "hardtanh": F.hardtanh(zeros, 0, 1),
            "bessel": torch.special.bessel_j1(zeros),
        }
        assert {name: signs(t) for name, t in found.items()} == dict.fromkeys(found, "-+" * 9)
        assert (
            signs(zeros**1.5) == signs(torch.pow(-0.0, zeros + 2.5)) == signs(F.tanhshrink(zeros)) == "+" * 18
        )
        assert F.hardswish(torch.tensor([-math.inf], dtype=dtype)).isnan().all()
        assert (torch.tensor([-0.0] * 9, dtype=dtype) ** -0.5 == -math.inf).all()


@BOTH
@pytest.mark.parametrize(
    "half", [torch.tensor(0.5), torch.tensor([0.5]), torch.full((1, 3), 0.5).expand(6, 3)]
)
def test_a_tensor_of_one_half_is_no_root(kernels, half):
    """C's pow, which differs from a root, and so from a number 0.5, at -0 and -inf."""
    with settings.using(kernels=kernels):
        for shape in ((), (1,), (6, 3)):
            assert signs((torch.full(shape, -0.0) ** half).reshape(-1)[:1]) == "+"
            assert (torch.full(shape, -math.inf) ** half == math.inf).all()


@BOTH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_and_sums_are_rounded_once(kernels, dtype):
    """(1 + e)(1 - e) - 1 is -e^2, not 0."""
    e = torch.finfo(dtype).eps
    a, b, c = (torch.full((17,), v, dtype=dtype) for v in (1 + e, 1 - e, -1.0))
    with settings.using(kernels=kernels):
        assert (torch.addcmul(c, a, b) == -e * e).all()
        assert (torch.addcmul(-c, a, b, value=-1) == e * e).all()
        assert (torch.add(c, b, alpha=1 + e) == -e * e).all()
        assert (torch.sub(c, b, alpha=-1 - e) == -e * e).all()
        assert (torch.rsub(b, c, alpha=-1 - e) == -e * e).all()


def test_fma_at_the_ends_of_the_range():
    big, tiny = np.float64(1.7e308), np.float64(5e-324)
    with np.errstate(all="ignore"):
        found = fma(
            np.array([2.0, 2.0, 0.5, -0.0, math.nan]),
            np.array([big, big, tiny, 1.0, 1.0]),
            np.array([-big, -math.inf, tiny, -0.0, 1.0]),
        )
    assert found[0] == big and found[1] == -math.inf and found[2] == 2 * tiny
    assert found[3] == 0 and np.signbit(found[3]) and np.isnan(found[4])


@BOTH
@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_numbers_beside_two_byte_tensors(kernels, name):
    """They are rounded, but for factors and divisors; so are operands without dims."""
    of = ml_dtypes.bfloat16 if name == "bfloat16" else np.float16
    values = np.random.default_rng(0).standard_normal(999).astype(of)
    x = torch.tensor(values.astype(np.float32)).to(getattr(torch, name))
    wide, number, short = values.astype(np.float32), np.float32(0.3), np.float32(of(0.3))

    def same(found, expected):
        assert (found.float().numpy() == expected.astype(of).astype(np.float32)).all()

    with settings.using(kernels=kernels):
        for scalar in (0.3, torch.tensor(0.3)):
            same(x + scalar, wide + short)
            same(x - scalar, wide - short)
            same(x * scalar, wide * number)
            same(x / scalar, wide / number)
            same(torch.fmod(x, scalar), np.fmod(wide, short))
        same(0.3 / x, (1 / wide).astype(of).astype(np.float32) * number)
        same(
            torch.div(x, x.flip(0), rounding_mode="trunc"),
            np.trunc((wide / wide[::-1]).astype(of).astype(np.float32)),
        )
        same(
            F.mse_loss(x, x.flip(0), reduction="none"), (wide - wide[::-1]).astype(of).astype(np.float32) ** 2
        )
        same(torch.nextafter(x, x + 1), np.nextafter(values, np.array(99, of)).astype(np.float32))


@BOTH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_powers_to_numbers_are_products(kernels, dtype):
    x = torch.linspace(-3, 3, 101, dtype=dtype)
    with settings.using(kernels=kernels):
        for exponent, expected in ((2, x * x), (3.0, x * x * x), (-1, 1 / x), (-2, 1 / (x * x)), (1, x)):
            assert torch.equal(x**exponent, expected)
        leaf = x.clone().requires_grad_()
        (leaf**3).sum().backward()
        assert torch.equal(leaf.grad, (x * x) * 3)


def test_tanhshrink_near_zero():
    x = torch.logspace(-30, -1.6, 30, dtype=torch.float64)
    expected = x**3 / 3 - 2 * x**5 / 15 + 17 * x**7 / 315 - 62 * x**9 / 2835 + 1382 * x**11 / 155925
    torch.testing.assert_close(F.tanhshrink(x), expected, rtol=1e-13, atol=0)


def test_polygamma_beside_its_zeros():
    """polygamma(2, -1.5) and its neighbourhood, of mpmath."""
    x = torch.tensor([-1.5, -1.4999, -2.508, -7.5], dtype=torch.float64)
    expected = torch.tensor([POLYGAMMA[float(v)] for v in x], dtype=torch.float64)
    torch.testing.assert_close(torch.polygamma(2, x), expected, rtol=1e-13, atol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_group_norm_of_two_bytes_rounds_once(dtype, memory_format):
    """The moments are of float32 also where there are no weights."""
    torch.manual_seed(0)
    x = (torch.randn(4, 8, 6, 6) * 2 + 37).to(dtype).contiguous(memory_format=memory_format)
    wide = x.detach().float().requires_grad_()
    x.requires_grad_()
    for _ in range(3):
        found, wanted = F.group_norm(x, 2), F.group_norm(wide, 2)
        assert found.dtype is dtype
        assert found.equal(wanted.to(dtype))
        slopes = [torch.autograd.grad(y, t, torch.ones_like(y)) for y, t in ((found, x), (wanted, wide))]
        assert slopes[0][0].equal(slopes[1][0].to(dtype))
    assert [t.dtype for t in torch.native_group_norm(x, None, None, 4, 8, 36, 2, 1e-5)] == [dtype] * 3


def test_batch_norm_beside_float32_parameters_rounds_once() -> None:
    torch.manual_seed(0)
    for last in (torch.contiguous_format, torch.channels_last):
        x = torch.randn(4, 6, 8, 10).to(memory_format=last).bfloat16()
        g = torch.randn(4, 6, 8, 10).to(memory_format=last).bfloat16()
        found = []
        for given in (x, x.float()):
            given.requires_grad_()
            weight, bias = torch.arange(1.0, 7, requires_grad=True), torch.zeros(6, requires_grad=True)
            mean, variance = torch.zeros(6), torch.ones(6)
            for _ in range(3):
                given.grad = weight.grad = bias.grad = None
                y = F.batch_norm(given, mean, variance, weight, bias, training=True)
                y.backward(g.to(y.dtype))
            assert y.stride() == given.grad.stride() == x.stride()
            assert y.dtype is given.grad.dtype is given.dtype and weight.grad.dtype is torch.float32
            found.append([t.bfloat16() for t in (y, given.grad)] + [weight.grad, bias.grad, mean, variance])
        for narrow, wide in zip(*found, strict=True):
            assert torch.equal(narrow, wide)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("source", [torch.bool, torch.uint8, torch.int8, torch.int16])
def test_small_integers_are_rounded_once(source, dtype):
    whole = torch.arange(-(1 << 15), 1 << 15).to(source)
    wanted = whole.double().to(dtype)
    for x in (whole, whole[:100], whole.reshape(256, 256).t()):
        for _ in range(3):
            assert torch.equal(x.to(dtype).flatten().sort()[0], x.double().to(dtype).flatten().sort()[0])
    assert torch.equal(whole.to(dtype), wanted)


@pytest.mark.parametrize("sizes", [(17, 33, 40), (64, 1024, 64), (8, 1500, 8), (200, 256, 100), (1, 5, 1)])
def test_products_of_bytes_are_exact(sizes):
    n, k, m = sizes
    torch.manual_seed(k)
    a, b = (torch.randint(-128, 128, shape).to(torch.int8) for shape in ((n, k), (k, m)))
    found = torch._int_mm(a, b)
    assert found.dtype is torch.int32
    assert torch.equal(found.long(), a.long() @ b.long())
    assert torch.equal(
        torch._int_mm(torch.full_like(a, -128), torch.full_like(b, -128)).long(), found.long() * 0 + k * 16384
    )


def test_triangles_that_are_kept_are_not_shared():
    first = torch.tril_indices(5, 4, -1)
    first.zero_()
    again = torch.tril_indices(5, 4, -1)
    assert again.tolist() == [[1, 2, 2, 3, 3, 3, 4, 4, 4, 4], [0, 0, 1, 0, 1, 2, 0, 1, 2, 3]]
    assert torch.tril_indices(5, 4, -1, dtype=torch.int32).dtype is torch.int32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_squares_of_halves_are_added_up_in_single_precision(dtype):
    x = (torch.arange(216.0).reshape(2, 3, 6, 6) * 3).to(dtype)
    wide = x.float()
    for found, wanted in (
        (x.var((0, 2, 3)), wide.var((0, 2, 3))),
        (x.std(), wide.std()),
        (torch.std_mean(x, -1)[0], wide.std(-1)),
        (torch.var_mean(x, 1, correction=0)[0], wide.var(1, correction=0)),
    ):
        assert found.dtype is dtype
        assert found.tolist() == wanted.to(dtype).tolist()
    normal = F.batch_norm(x, None, None, training=True)
    assert normal.dtype is dtype
    assert normal.float().sub(F.batch_norm(wide, None, None, training=True)).abs().max() < 0.01
