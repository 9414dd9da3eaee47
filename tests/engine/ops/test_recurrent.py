"""Recurrences: the kernels equal the bodies written with rows; second order; half precision."""

from __future__ import annotations

import gc
import weakref
from threading import Thread
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.ops.table import ROWS

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_CASES = [
    (mode, sizes, reverse, None)
    for mode in _GATES
    for sizes in ((3, 3, 3), (3, 2, 2, 1))
    for reverse in (False, True)
] + [("LSTM", (3, 2, 1), True, 2), ("LSTM", (2, 2), False, 2)]


def _operands(mode: str, sizes: tuple[int, ...], projection: int | None, hidden: int = 4) -> list[Any]:
    """gates, h0, c0, w, b, projection; all but the missing ones require grad."""
    rng = np.random.RandomState(3)
    out, wide = projection or hidden, _GATES[mode] * hidden
    shapes = [
        (sum(sizes), wide),
        (sizes[0], out),
        (sizes[0], hidden) if mode == "LSTM" else None,
        (wide, out),
        (wide,),
        (projection, hidden) if projection else None,
    ]
    return [None if s is None else torch.from_numpy(rng.randn(*s)).requires_grad_() for s in shapes]


def _loss(results: Any) -> Any:
    rng = np.random.RandomState(4)
    return sum((r * torch.from_numpy(rng.randn(*r.shape))).sum() for r in results if r is not None)


@pytest.mark.parametrize(("mode", "sizes", "reverse", "projection"), _CASES)
def test_kernels_equal_bodies(mode: str, sizes: Any, reverse: bool, projection: Any) -> None:
    row = ROWS["_recurrence"]
    found = []
    for run in (row, row.body):
        operands = _operands(mode, sizes, projection)
        results = run(*operands, mode, sizes, reverse)[:3]
        _loss(results).backward()
        given = [t for t in operands if t is not None]
        found.append([*(r.detach() for r in results if r is not None), *(t.grad for t in given)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("mode", "sizes", "reverse", "projection"),
    [("LSTM", (2, 1), False, 1), ("GRU", (2, 1), True, None), ("RNN_TANH", (2, 1), False, None)],
)
def test_second_order(mode: str, sizes: Any, reverse: bool, projection: Any) -> None:
    operands = _operands(mode, sizes, projection, hidden=2)
    given = [i for i, t in enumerate(operands) if t is not None]

    def function(*tensors: Any) -> Any:
        filled = list(operands)
        for i, t in zip(given, tensors, strict=True):
            filled[i] = t
        found = ROWS["_recurrence"](*filled, mode, sizes, reverse)
        return tuple(r for r in found[:3] if r is not None)

    assert torch.autograd.gradcheck(function, [operands[i] for i in given])
    assert torch.autograd.gradgradcheck(function, [operands[i] for i in given])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_half_precision(kind: str, dtype: str) -> None:
    torch.manual_seed(0)
    layer, x = getattr(torch.nn, kind)(3, 4, bidirectional=True), torch.randn(5, 2, 3)
    exact = layer(x)[0]
    exact.square().sum().backward()
    wanted = [exact.detach(), *[p.grad for p in layer.parameters()]]
    layer.zero_grad()
    half = layer.to(getattr(torch, dtype))(x.to(getattr(torch, dtype)))[0]
    half.square().sum().backward()
    for found, full in zip([half.detach(), *[p.grad for p in layer.parameters()]], wanted, strict=True):
        assert str(found.dtype) == f"torch.{dtype}"
        np.testing.assert_allclose(found.float().numpy(), full.numpy(), atol=0.03, rtol=0.03)


def test_meta() -> None:
    out, (h, c) = torch.nn.LSTM(3, 4, 2, device="meta")(torch.zeros(5, 2, 3, device="meta"))
    assert [list(t.shape) for t in (out, h, c)] == [[5, 2, 4], [2, 2, 4], [2, 2, 4]]
    assert out.is_meta


@pytest.mark.parametrize("cls", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("more", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False}])
@pytest.mark.parametrize("of", [torch.float32, torch.bfloat16])
def test_later_calls_have_the_bits_of_the_first(
    cls: str, packed: bool, more: dict[str, Any], of: torch.dtype
) -> None:
    torch.manual_seed(0)
    model, x = getattr(torch.nn, cls)(10, 34, **more).to(of), torch.randn(12, 7, 10).to(of).requires_grad_()
    lengths = torch.tensor([12, 11, 7, 7, 3, 2, 1])
    found = []
    for _ in range(4):  # steps are one by one in the first, written down in the second
        model.zero_grad()
        x.grad = None
        given = torch.nn.utils.rnn.pack_padded_sequence(x, lengths) if packed else x
        out = model(given)[0]
        out = out.data if packed else out
        (out * out).sum().backward()
        found.append(
            [
                t.detach().float().numpy().tobytes()
                for t in (out, x.grad, *[p.grad for p in model.parameters()])
            ]
        )
    assert found[1:] == found[:1] * 3


@pytest.mark.parametrize("of", [torch.float32, torch.bfloat16])
def test_threads_that_share_a_model(of: torch.dtype) -> None:
    model, x = torch.nn.LSTM(10, 32).to(of), torch.randn(12, 7, 10).to(of)
    wanted, found = model(x)[0].detach(), []
    threads = [
        Thread(target=lambda: found.extend([model(x)[0].equal(wanted) for _ in range(30)])) for _ in range(4)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [True] * 120


def test_steps_that_are_written_down_keep_no_operands() -> None:
    model, x = torch.nn.LSTM(10, 32), torch.randn(12, 7, 10)
    outs = [weakref.ref(model(x)[0]._array) for _ in range(3)]
    gc.collect()
    assert [out() for out in outs] == [None] * 3


def test_a_gradient_that_is_the_result_s_own_memory():
    torch.manual_seed(0)
    layer, x = torch.nn.RNN(4, 8), torch.randn(5, 2, 4)
    slope = torch.randn(5, 2, 8)

    def gradient(aliased):
        layer.zero_grad()
        out = layer(x)[0]
        out.backward(out.detach() if aliased else slope)
        return layer.weight_hh_l0.grad.clone()

    wanted = gradient(False)
    for _ in range(3):
        gradient(True)
    assert gradient(False).equal(wanted)
