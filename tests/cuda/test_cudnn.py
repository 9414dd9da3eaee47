"""Convolutions by cuDNN, over an imitation of its functions: the CPU's results, and what follows a refusal."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.devices.cuda.driver import dnn
from tests.cuda.fake_dnn import NOT_SUPPORTED, FakeDnn
from tests.cuda.fake_driver import FakeDriver

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.devices("driver")
F = torch.nn.functional


@pytest.fixture(autouse=True)
def library(fake: FakeDriver, monkeypatch: Any) -> FakeDnn:
    """cuDNN, as the process finds it."""
    made = FakeDnn(fake)
    monkeypatch.setattr(dnn.Override, "library", made)
    return made


CASES: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": (F.conv2d, (2, 4, 7, 6), (6, 4, 3, 3), {}),
    "strides, padding, dilation": (
        F.conv2d,
        (2, 4, 11, 9),
        (6, 4, 3, 2),
        {"stride": (2, 1), "padding": (2, 1), "dilation": (2, 1)},
    ),
    "groups": (F.conv2d, (2, 4, 7, 6), (6, 2, 3, 3), {"groups": 2, "padding": 1}),
    "depthwise": (F.conv2d, (2, 4, 7, 6), (4, 1, 3, 3), {"groups": 4, "padding": 1}),
    "a line": (F.conv1d, (2, 4, 9), (6, 4, 3), {"stride": 2, "padding": 1}),
    "a volume": (F.conv3d, (1, 2, 5, 4, 6), (3, 2, 2, 3, 2), {"padding": 1}),
    "turned around": (F.conv_transpose2d, (2, 4, 5, 6), (4, 3, 3, 3), {"stride": 2, "padding": 1}),
}


def compared(name: str, of: torch.dtype, last: bool = False, tolerance: float = 1e-4) -> None:
    """The device's result and gradients are the CPU's."""
    function, shape, weight, how = CASES[name]
    memory = torch.channels_last if last else torch.contiguous_format
    x, w = torch.randn(shape).to(of), torch.randn(weight).to(of)
    here = [t.to(memory_format=memory).requires_grad_() for t in (x, w)]
    for _ in range(3):  # the third is a generated function
        there = [t.detach().cuda().requires_grad_() for t in here]
        for t in here:
            t.grad = None
        want, found = function(*here, **how), function(*there, **how)
        assert found.stride() == want.stride()
        seed = torch.randn(want.shape).to(of)
        want.backward(seed)
        found.backward(seed.cuda())
        pairs = [(found, want), *[(t.grad, h.grad) for t, h in zip(there, here, strict=True)]]
        for a, b in pairs:
            torch.testing.assert_close(a.detach().cpu(), b.detach(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", CASES)
def test_the_cpus_results(name: str, library: FakeDnn) -> None:
    compared(name, torch.float32)
    done = {n: c for n, c in library.calls.items() if n.startswith("cudnnConvolution")}
    assert sum(done.values()) >= 9, done


@pytest.mark.parametrize("of", [torch.float64, torch.float16, torch.bfloat16])
def test_other_dtypes(of: torch.dtype) -> None:
    compared("groups", of, tolerance=1e-9 if of is torch.float64 else 0.2)


def test_channels_last_stay_last() -> None:
    compared("strides, padding, dilation", torch.float32, True)


def test_only_what_is_deterministic_is_taken(library: FakeDnn) -> None:
    """The search names a faster algorithm first, whose workspace nobody may ask for."""
    compared("plain", torch.float32)
    assert not library.calls["cudnnFindConvolutionForwardAlgorithm"]


@pytest.mark.parametrize(
    "name", ["cudnnCreate", "cudnnGetConvolutionForwardAlgorithm_v7", "cudnnConvolutionBackwardData"]
)
def test_what_it_refuses_is_done_by_the_devices_own_kernels(name: str, library: FakeDnn) -> None:
    library.refuses[name] = NOT_SUPPORTED
    compared("groups", torch.float32)


def test_the_switch_is_looked_at(library: FakeDnn) -> None:
    with torch.backends.cudnn.flags(enabled=False):
        compared("plain", torch.float32)
    assert not library.calls["cudnnConvolutionForward"]
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        compared("plain", torch.float32)
    assert {what["math"] for what in library.things.values() if "math" in what} == {3}


def test_a_graph_holds_convolutions(library: FakeDnn) -> None:
    x, w = torch.randn(1, 2, 5, 5), torch.randn(3, 2, 3, 3)
    there, weight, graph = x.cuda(), w.cuda(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # the library begins in it
        found = F.conv2d(there, weight)
    there.mul_(2)
    graph.replay()
    torch.testing.assert_close(found.cpu(), F.conv2d(2 * x, w), rtol=1e-4, atol=1e-4)
