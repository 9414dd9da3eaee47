"""Random numbers on a device: PyTorch's CUDA numbers for seed 0, states, generators, repeated draws."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.devices.cuda import philox
from rushlight.utils.checkpoint import checkpoint

# What PyTorch prints for torch.manual_seed(0); torch.rand(6, device="cuda"), and of randn.
UNIFORMS = [0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967]
NORMALS = [-0.9247, -0.4253, -2.6438, 0.1452, -0.1209, -0.5797, -0.6229, -0.3284, -1.0745, -0.3631]


def test_pytorchs_numbers() -> None:
    torch.manual_seed(0)
    assert torch.rand(6, device="cuda").tolist() == pytest.approx(UNIFORMS, abs=5.1e-5)
    torch.cuda.manual_seed(0)
    assert torch.randn(10, device="cuda").tolist() == pytest.approx(NORMALS, abs=7e-4)


def test_philox_is_that_of_its_authors() -> None:
    # The known answers of Random123 for the counter and key of zeros, and of all ones.
    assert [hex(int(w[0])) for w in philox.words(0, 0, 1)] == [
        "0x6627e8d5",
        "0xe169c58d",
        "0xbc57ac4c",
        "0x9b00dbd8",
    ]
    ones = philox.words((1 << 64) - 1, ((1 << 64) - 1) * 4, 1, (1 << 64) - 1)
    assert [hex(int(w[0])) for w in ones] == ["0x408f276d", "0x41c83b0e", "0xa20bc7c6", "0x6d5451fd"]


def test_the_numbers_of_a_grid_that_strides() -> None:
    # More numbers than threads: the first of the second round are the second words of the first threads.
    backend = torch.zeros(1, device="cuda")._kind.backend
    torch.cuda.manual_seed(5)
    threads = backend.philox.threads(10**6)
    many = torch.rand(threads + 3, device="cuda").cpu()._array
    first, second = philox.uniform32(philox.words(5, 0, threads))[:2]
    assert threads == 108 * 8 * 256 and np.array_equal(many[:threads], first)
    assert np.array_equal(many[threads:], second[:3])


def test_states_and_generators() -> None:
    torch.manual_seed(3)
    state = torch.cuda.get_rng_state()
    assert state.numel() == 16 and state.is_cpu and torch.cuda.initial_seed() == 3
    a = torch.rand(5, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(5, device="cuda"), a)
    g = torch.Generator("cuda").manual_seed(3)
    assert g.device == torch.device("cuda:0") and torch.equal(torch.rand(5, device="cuda", generator=g), a)
    assert g.get_offset() == 4 and torch.equal(g.clone_state().get_state(), g.get_state())
    with torch.random.fork_rng():
        torch.rand(9, device="cuda")
        kept = torch.cuda.get_rng_state()
    assert not torch.equal(kept, torch.cuda.get_rng_state())
    assert len(torch.cuda.get_rng_state_all()) == 2 == len(torch.cuda.default_generators)


@pytest.mark.parametrize("of", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_moments(of: torch.dtype) -> None:
    u, z = (f(40000, device="cuda", dtype=of).double() for f in (torch.rand, torch.randn))
    assert abs(u.mean() - 0.5) < 0.01 and abs(z.mean()) < 0.03 and abs(z.var() - 1) < 0.04
    assert u.min() >= 0 and u.max() <= 1


def test_other_ways_to_draw() -> None:
    x = torch.empty(20000, device="cuda")
    assert abs(x.exponential_(2.0).mean() - 0.5) < 0.02 and abs(x.bernoulli_(0.3).mean() - 0.3) < 0.02
    assert sorted(torch.randperm(1000, device="cuda").tolist()) == list(range(1000))
    whole = torch.randint(-5, 9, (20000,), device="cuda")
    assert whole.min() == -5 and whole.max() == 8 and abs(whole.double().mean() - 1.5) < 0.1
    assert abs(torch.bernoulli(torch.full((20000,), 0.2, device="cuda")).mean() - 0.2) < 0.02
    kept = nn.functional.dropout(torch.ones(20000, device="cuda"), 0.25)
    assert abs((kept > 0).double().mean() - 0.75) < 0.02 and kept.max().item() == pytest.approx(4 / 3)
    counts = torch.multinomial(torch.tensor([1.0, 3.0], device="cuda"), 20000, replacement=True)
    assert abs(counts.double().mean() - 0.75) < 0.02
    assert torch.multinomial(torch.ones(7, device="cuda"), 7).unique().numel() == 7
    assert torch.bernoulli(torch.empty(0, device="cuda")).numel() == 0
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator"):
        torch.rand(2, device="cuda", generator=torch.Generator())


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_repeats_its_draws(reentrant: bool) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 8)).cuda()
    x, found = torch.randn(4, 8, device="cuda", requires_grad=True), []
    for run in (model, lambda v: checkpoint(model, v, use_reentrant=reentrant)):
        torch.manual_seed(1)
        run(x).sum().backward()
        found.append(x.grad)
        x.grad = None
    assert torch.equal(*found)


def test_uniforms_of_half_precision_stay_below_the_upper_bound() -> None:
    """PyTorch's kernel rounds to the dtype before it turns the bounds around."""
    torch.cuda.manual_seed(0)
    for dtype in (torch.bfloat16, torch.float16):
        drawn = torch.rand(1 << 16, device="cuda", dtype=dtype)
        assert drawn.max().item() < 1 and drawn.min().item() >= 0


def test_bernoulli_by_a_tensor_moves_the_generator_on_by_twelve() -> None:
    """PyTorch's kernel asks for ten numbers of each thread, whatever the size."""
    torch.cuda.manual_seed(0)
    torch.bernoulli(torch.full((100_000,), 0.5, device="cuda"))
    assert torch.cuda.get_rng_state()[8:].view(torch.int64).item() == 12


@pytest.mark.parametrize("real", [False, True])
def test_samplers_follow_the_devices_seed(real: bool) -> None:
    """Numbers of the right distribution, on both kinds of device, that leave the CPU's generator alone."""
    from tests.cuda.conftest import use
    from tests.cuda.fake_driver import FakeDriver, install

    if real:
        install(FakeDriver())
        use("driver")
    try:
        rate = torch.full((4000,), 3.0, device="cuda")
        draws = {
            "poisson": (lambda: torch.poisson(rate), 3.0, 3.0),
            "gamma": (lambda: torch._standard_gamma(rate), 3.0, 3.0),
            "binomial": (lambda: torch.binomial(rate * 4, rate / 6), 6.0, 3.0),
        }
        before = torch.random.get_rng_state()
        for draw, mean, variance in draws.values():
            torch.cuda.manual_seed(7)
            one, two = draw(), draw()
            torch.cuda.manual_seed(7)
            assert torch.equal(one, draw()) and not torch.equal(one, two)
            assert one.is_cuda and one.mean().item() == pytest.approx(mean, abs=0.15)
            assert one.var().item() == pytest.approx(variance, abs=0.4)
        g = torch.Generator("cuda").manual_seed(7)
        torch.cuda.manual_seed(7)
        assert torch.equal(torch.poisson(rate, generator=g), torch.poisson(rate))
        shares = torch.distributions.Dirichlet(rate[:5]).sample()
        assert shares.is_cuda and shares.sum().item() == pytest.approx(1, abs=1e-5)
        slopes = torch.nn.functional.rrelu(-rate, 0.1, 0.3, training=True) / -3
        assert 0.1 <= slopes.min().item() < 0.12 and 0.28 < slopes.max().item() <= 0.3
        assert torch.equal(torch.random.get_rng_state(), before)
    finally:
        if real:
            install(None)
            use("")


@pytest.mark.parametrize("named", [None, [0], ["cuda"], ["cuda:0"], [torch.device("cuda", 0)]])
def test_a_fork_of_the_generators_names_devices_in_any_way(named):
    torch.manual_seed(0)
    with torch.random.fork_rng(named):
        first = torch.randperm(50, device="cuda")
    assert torch.randperm(50, device="cuda").equal(first)


def test_bounds_of_whole_numbers_are_checked_there():
    x = torch.empty(2, dtype=torch.int32, device="cuda")
    with pytest.raises(RuntimeError, match="to - 1 is out of bounds for int"):
        x.random_(0, 2**33)
    with pytest.raises(RuntimeError, match="from is out of bounds for int"):
        x.random_(-(2**31) - 1, 5)
    with pytest.raises(RuntimeError, match="'from' to be less than 'to'"):
        x.random_(5, 5)


def test_draws_of_many_categories_take_no_square_of_memory() -> None:
    torch.manual_seed(0)
    found = (torch.arange(200_000, device="cuda") % 2).float().multinomial(100_000, True)
    assert found.shape == (100_000,) and bool((found % 2 == 1).all())
    rows = torch.tensor([[0.0, 1, 0], [0, 0, 1]], device="cuda").multinomial(4, True)
    assert rows.tolist() == [[1] * 4, [2] * 4]


def test_marks_for_profilers_are_taken() -> None:
    with torch.cuda.nvtx.range("step {}", 1):
        torch.cuda.nvtx.mark("x")
    assert torch.cuda.nvtx.range_push("a") == torch.cuda.nvtx.range_pop() == -2
    torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("b"))


_WRONG = {"exponential_": (-0.5,), "cauchy_": (0.0, -1.0), "log_normal_": (0.0, 0.0), "geometric_": (2.0,)}


@pytest.mark.parametrize("name", _WRONG)
def test_parameters_are_those_of_the_host(name: str) -> None:
    told = []
    for where in ("cpu", "cuda"):
        with pytest.raises(RuntimeError, match=f"{name} expects") as error:
            getattr(torch.empty(1, device=where), name)(*_WRONG[name])
        told.append(str(error.value))
    assert told[0] == told[1]
