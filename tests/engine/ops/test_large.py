"""Ways of computing that only large or repeated calls take give what small and first ones give."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.kernels.loops import rows_in_registers
from rushlight._engine.kernels.loops.columns import columns
from rushlight._engine.kernels.loops.columns_in_registers import columns_of, sums_of
from rushlight._engine.kernels.loops.rows import rows
from rushlight._engine.kernels.loops.scan import scan
from rushlight._engine.ops.expressions import symbol
from rushlight._engine.ops.nn.interpolation import _by_taps
from rushlight._engine.ops.nn.taps import matrix, taps
from rushlight._engine.ops.row_expressions import reduce_


@pytest.mark.parametrize("order", itertools.permutations(range(3)))
def test_transposed_copies(order: tuple[int, ...]) -> None:
    x = torch.randn(20, 33, 47)
    turned = x.permute(order)
    for copy in (
        turned.contiguous(),
        turned.clone(memory_format=torch.contiguous_format),
        turned.double().float(),
    ):
        assert np.array_equal(copy.numpy(), x.numpy().transpose(order))
    assert turned.contiguous().is_contiguous() and turned.clone().stride() == turned.stride()
    assert np.array_equal(turned[:, ::2].flip(0).contiguous().numpy(), x.numpy().transpose(order)[::-1, ::2])


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize(("name", "ufunc"), [("cumsum", np.add), ("cumprod", np.multiply)])
def test_scans_are_rounded_at_each_element(name: str, ufunc: Any, dim: int) -> None:
    a = (np.random.RandomState(0).rand(6, 700, 40) + 0.5).astype(np.float32)
    wanted = ufunc.accumulate(a.astype(np.float64), dim).astype(np.float32)
    assert np.array_equal(getattr(torch, name)(torch.tensor(a), dim).numpy(), wanted)
    if dim == 2:
        kernel = scan("add" if name == "cumsum" else "mul", "rows", "float32")
        if kernel.compile_now():
            assert np.array_equal(getattr(torch, name)(torch.tensor(a), dim).numpy(), wanted)
    ints = torch.arange(60000).reshape(300, 200)
    assert ints.cumsum(0)[-1].equal(ints.sum(0))


@pytest.mark.parametrize(
    "draw",
    [
        lambda n: torch.rand(n),
        lambda n: torch.empty(n).exponential_(),
        lambda n: torch.empty(n, dtype=torch.float64).uniform_(-1, 2),
        lambda n: torch.empty(n).bernoulli_(0.3),
        lambda n: torch.empty(n).cauchy_(),
    ],
)
def test_long_draws_are_one_stream(draw: Any) -> None:
    torch.manual_seed(5)
    whole = draw(100_003)
    torch.manual_seed(5)
    parts = torch.cat([draw(n) for n in (32768, 1000, 50000, 16235)])
    assert whole.equal(parts)


def test_plans_see_values_and_classes() -> None:
    x, y = torch.tensor([-2.0, 0.5, 3.0]), torch.tensor([1, 2, 3])
    for low in (-1, 0.25, True, -1, 0.25):
        assert torch.clamp(x, low, 2).tolist() == [max(min(v, 2), low) for v in x.tolist()]
        assert torch.lerp(x, x + 1, float(low)).equal(x + float(low))
    for _ in range(2):
        assert torch.clamp(y, 2).dtype is torch.int64 and torch.clamp(y, 1.5).dtype is torch.float32
        with pytest.raises(ValueError, match="min_val cannot be greater"):
            torch.nn.functional.hardtanh(x, 2.0, 1.0)
        assert torch.nn.functional.hardtanh(x, 1.0, 2.0).tolist() == [1, 1, 2]
        with pytest.raises(RuntimeError, match="floating point"):
            torch.add(y, y, alpha=0.5)
        assert torch.where(x > 0, x, 0).tolist() == [0, 0.5, 3]
        assert torch.addcmul(x, x, x, value=-0.0).equal(x) and torch.addcmul(x, x, x, value=1).equal(
            x + x * x
        )
        with pytest.raises(TypeError, match="must be"):
            torch.clamp(x, "a")


@pytest.mark.parametrize(
    ("mode", "smooth"), [("linear", False), ("bicubic", False), ("bilinear", True), ("bicubic", True)]
)
def test_taps_are_the_matrix(mode: str, smooth: bool) -> None:
    x = torch.randn(2, 3, 31, dtype=torch.float64, requires_grad=True)
    for out, align in itertools.product((7, 31, 80), (True, False)):
        how = (None, align, mode, smooth)
        got, wanted = _by_taps(x, 2, *taps(31, out, *how)), x @ torch.tensor(matrix(31, out, *how))
        torch.testing.assert_close(got, wanted)
        torch.testing.assert_close(*(torch.autograd.grad(v.square().sum(), x)[0] for v in (got, wanted)))


def test_halves_and_norms_round_once() -> None:
    x = torch.randn(40_000) * 100
    for half in (torch.float16, torch.bfloat16):
        for _ in range(3):
            assert np.array_equal(
                x.to(half).float().numpy(),
                x.numpy().astype(half.np if hasattr(half, "np") else half).astype(np.float32),
            )
        part = x[:300].to(half)
        assert part.norm().item() == part.double().norm().to(half).item()
        a, b, c = (torch.randn(16, 16).to(half) for _ in range(3))
        wanted = (c.double() * 2 + a.double() @ b.double()).to(half)
        assert (torch.addmm(c, a, b, beta=2) == wanted).float().mean() > 0.99
        wanted = (a.double() @ b.double().T + c[0].double()).to(half)
        assert (torch.nn.functional.linear(a, b, c[0]) == wanted).float().mean() > 0.99


def test_wide_windows_are_means() -> None:
    x = torch.randn(2, 3, 24, 36, dtype=torch.float64)
    got = torch.nn.functional.adaptive_avg_pool2d(x, (2, 3))
    torch.testing.assert_close(got, x.reshape(2, 3, 2, 12, 3, 12).mean((3, 5)))
    assert torch.nn.functional.adaptive_avg_pool1d(x[0, 0], 4).shape == (24, 4)


def test_ctc_loss_of_many_steps_and_sequences(monkeypatch):
    # More steps of sequences than one call of machine code goes through.
    from rushlight._engine.ops.nn import margin_losses

    torch.manual_seed(0)
    logs = torch.randn(100, 64, 8, dtype=torch.float64).log_softmax(2).requires_grad_()
    targets, times = torch.randint(1, 8, (64, 5)), torch.randint(40, 101, (64,)).tolist()
    together = torch.nn.functional.ctc_loss(logs, targets, times, [5] * 64, reduction="none")
    alone = [
        torch.nn.functional.ctc_loss(
            logs[:, i : i + 1], targets[i : i + 1], times[i : i + 1], [5], reduction="sum"
        )
        for i in range(64)
    ]
    assert torch.allclose(together, torch.stack(alone), rtol=1e-12)
    (grad,) = torch.autograd.grad(together.sum(), logs, retain_graph=True)
    (each,) = torch.autograd.grad(torch.stack(alone).sum(), logs)
    assert torch.allclose(grad, each, rtol=1e-9, atol=1e-12)
    monkeypatch.setattr(margin_losses, "_steps", lambda *sizes: None)  # as without machine code
    plain = torch.nn.functional.ctc_loss(logs, targets, times, [5] * 64, reduction="none")
    assert torch.allclose(together, plain, rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64])
@pytest.mark.parametrize("shape", [(1024, 64), (70001,), (3, 5, 7000)], ids=str)
def test_sums_of_many_integers(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    x = torch.randint(0, 2 if dtype is torch.bool else 100, shape).to(dtype)
    for _ in range(2):
        assert x.sum().dtype is torch.int64 and x.sum().item() == x.numpy().sum()
        for d in range(len(shape)):
            assert np.array_equal(x.sum(d, keepdim=True).numpy(), x.numpy().sum(d, keepdims=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(8, 64, 256), (300, 77), (3, 50, 131), (40, 30, 17)], ids=str)
def test_extremes_of_columns(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape).to(dtype)
    x.view(-1)[::997] = float("nan")
    for d in range(len(shape) - 1):
        assert np.array_equal(x.amax(d).numpy(), np.maximum.reduce(x.numpy(), d), equal_nan=True)
        assert np.array_equal(x.amin(d).numpy(), np.minimum.reduce(x.numpy(), d), equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(8, 64, 256), (3, 500, 131), (5, 700, 8), (2, 3, 33, 19, 20)], ids=str)
def test_sums_of_columns_of_several_matrices(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape).to(dtype)
    for d in range(1, len(shape) - 1):
        wanted = x.double().sum(d)
        torch.testing.assert_close(x.sum(d).double(), wanted, rtol=1e-5, atol=2e-5)
        torch.testing.assert_close(x.mean(d).double(), wanted / shape[d], rtol=1e-5, atol=1e-5)
        assert not (x * -0.0).abs().neg().sum(d).signbit().any()


@pytest.mark.parametrize("shape", [(1000, 8), (500, 10), (900, 31), (6000, 3), (2000, 11)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_sums_of_short_rows_compiled_and_eager(shape: tuple[int, int], dtype: torch.dtype) -> None:
    x = torch.randn(shape).to(dtype)
    whole = torch.compile(lambda x: ((x * 1).sum(-1), (x * 1).mean(-1), (x * 1).amax(-1)))
    for _ in range(4):
        for found, wanted in zip(whole(x), (x.sum(-1), x.mean(-1), x.amax(-1)), strict=True):
            assert found.equal(wanted)
    torch.testing.assert_close(x.sum(-1).double(), x.double().sum(-1), rtol=1e-2, atol=0.1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(4000, 8), (2000, 30), (300, 300), (97, 529), (70, 1100), (3, 500, 17)])
def test_extremes_of_columns_of_any_width(shape, dtype):
    """Few columns are taken several rows at a time; the last ones that fill no vector with some before them."""
    x = torch.randn(*shape).to(dtype)
    x.view(-1)[7] = float("nan")
    a, dim = x.numpy(), len(shape) - 2
    for _ in range(3):
        np.testing.assert_array_equal(x.amax(dim).numpy(), a.max(dim))
        np.testing.assert_array_equal(x.amin(dim).numpy(), a.min(dim))
        wanted = np.where(np.isnan(a), 0, a).sum(dim)
        np.testing.assert_allclose(x.nan_to_num().sum(dim).numpy(), wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_columns_keep_their_bits(dtype: str) -> None:
    """In registers, several blocks of rows at once, as by the kernel that takes row after row; and NumPy's."""
    rng, of = np.random.default_rng(0), np.dtype(dtype)
    kernel = columns((symbol("input"),), (("input", dtype, "matrix"),), (dtype,))
    for shape in (5, 3), (64, 10), (513, 33), (512, 16), (1000, 17), (2048, 3), (4099, 10), (100, 1000):
        a = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(of)
        sums, line = sums_of(of, *shape), columns_of("line", of, (1, *shape))
        assert sums is not None and line is not None
        assert sums(a).tobytes() == kernel.large(a).tobytes(), shape
        assert line(a)[0].tobytes() == np.add.reduce(a, 0).tobytes(), shape


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sums_of_columns_of_two_byte_floats_keep_their_bits(dtype: str) -> None:
    kernel = columns((symbol("input"),), (("input", dtype, "matrix"),), ("float32",))
    for shape in (5, 3), (513, 33), (1000, 17), (4099, 10), (2050, 64), (100, 1000):
        a = torch.randn(shape).to(getattr(torch, dtype))._array
        sums = sums_of(np.dtype("float32"), *shape, dtype)
        assert sums is not None
        assert sums(a).tobytes() == kernel.large(a).tobytes(), shape


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "shape", [(512, 10), (300, 20), (1000, 8), (20000, 1), (1, 20000), (3000, 2, 3), (2050, 8)], ids=str
)
def test_sums_of_narrow_matrices_compiled_and_eager(shape, dtype):
    x = torch.randn(shape).to(dtype)
    whole = torch.compile(lambda x: ((x * 1).sum(0), (x * 1).mean(0), (x * 1).sum(0, True)))
    for _ in range(4):
        for found, wanted in zip(whole(x), (x.sum(0), x.mean(0), x.sum(0, True)), strict=True):
            assert found.equal(wanted) and found.shape == wanted.shape
    error = 1e-2 if dtype is torch.bfloat16 else 1e-4
    torch.testing.assert_close(x.sum(0).double(), x.double().sum(0), rtol=error, atol=10 * error)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_rows_keep_their_bits(dtype: str) -> None:
    """Several rows at once, as by the row kernel, which takes row after row; and NumPy's."""
    rng, of = np.random.default_rng(0), np.dtype(dtype)
    kernel = rows((reduce_("add", symbol("input")),), (("input", dtype, "vector"),), (dtype,))
    for n in (2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 127, 128, 129, 2047, 2049, 4100):
        a = (rng.standard_normal((37, n)) * 10.0 ** rng.integers(-3, 4, (37, n))).astype(of)
        a[3] = -0.0
        sums = rows_in_registers.sums_of("add", of, *a.shape)
        assert sums is not None and sums(a).tobytes() == kernel.large(a).tobytes(), n
        if n <= rows_in_registers.LINE:
            line = rows_in_registers.sums_of("line", of, *a.shape)
            assert line is not None and line(a).tobytes() == np.add.reduce(a, 1).tobytes(), n
