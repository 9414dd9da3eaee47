"""Mixed precision beside PyTorch: types of results under autocast, and training with a GradScaler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight

torch = pytest.importorskip("torch")

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "mm": lambda t, x: x @ x,
    "mv": lambda t, x: t.mv(x, x[0]),
    "matmul_vector": lambda t, x: x @ x[0],
    "dot": lambda t, x: t.dot(x[0], x[0]),
    "addmm": lambda t, x: t.addmm(x, x, x),
    "baddbmm": lambda t, x: t.baddbmm(x[None], x[None], x[None]),
    "inner": lambda t, x: t.inner(x, x),
    "einsum": lambda t, x: t.einsum("ij,jk->ik", x, x),
    "outer": lambda t, x: t.einsum("i,j->ij", x[0], x[0]),
    "prelu": lambda t, x: t.nn.functional.prelu(x, x[:1, 0]),
    "softmax": lambda t, x: x.softmax(0),
    "prod": lambda t, x: x.prod(),
    "sum": lambda t, x: x.sum(),
    "trace": lambda t, x: x.trace(),
    "inv": lambda t, x: t.linalg.inv(x + 9 * t.eye(4, dtype=x.dtype)),
    "rfft": lambda t, x: t.fft.rfft(x),
    "mse": lambda t, x: t.nn.functional.mse_loss(x, x),
    "cat": lambda t, x: t.cat([x, x.float()]),
    "l1": lambda t, x: t.nn.functional.l1_loss(x, x),
    "cdist": lambda t, x: t.cdist(x, x),
    "reflect": lambda t, x: t.nn.functional.pad(x, (1, 1), "reflect"),
    "cov": lambda t, x: t.cov(x),
    "constant": lambda t, x: t.nn.functional.pad(x, (1, 1)),
    "gelu": lambda t, x: t.nn.functional.gelu(x),
    "pool3": lambda t, x: t.nn.functional.max_pool3d(x[None, None], (1, 2, 2)),
    "pool2": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x[None], 2),
    "addmm_": lambda t, x: x.clone().addmm_(x, x),
    "layer_norm": lambda t, x: t.nn.LayerNorm(4)(x),
    "batch_norm": lambda t, x: t.nn.BatchNorm1d(4)(x),
    "gru": lambda t, x: t.nn.GRU(4, 4)(x)[0],
    "rnn": lambda t, x: t.nn.RNN(4, 4)(x)[0],
    "attention": lambda t, x: t.nn.MultiheadAttention(4, 2)(x, x, x)[0],
}


@pytest.mark.parametrize("operand", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_types(name: str, operand: str) -> None:
    found = []
    for t in (torch, rushlight):
        with t.autocast("cpu"):
            found.append(str(CALLS[name](t, t.ones(4, 4, dtype=getattr(t, operand))).dtype))
    assert found[1] == found[0]


def _train(t: Any) -> tuple[list[float], list[float]]:
    t.manual_seed(0)
    model = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.ReLU(), t.nn.Linear(8, 2))
    optimizer = t.optim.SGD(model.parameters(), lr=0.1)
    scaler = t.amp.GradScaler(
        "cpu", init_scale=1000.0, growth_factor=1.7, backoff_factor=0.3, growth_interval=2
    )
    x, y = t.randn(6, 4), t.tensor([0, 1, 0, 1, 1, 0])
    scales = []
    for i in range(6):
        optimizer.zero_grad()
        with t.autocast("cpu"):
            loss = t.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss * float("inf") if i == 3 else loss).backward()
        if i % 2:
            scaler.unscale_(optimizer)
            t.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return scales, [v for p in model.parameters() for v in p.detach().flatten().tolist()]


def test_training() -> None:
    expected, found = _train(torch), _train(rushlight)
    assert found[0] == expected[0]
    assert found[1] == pytest.approx(expected[1], abs=2e-3)
