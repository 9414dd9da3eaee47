"""Saved-tensor hooks and checkpoints beside PyTorch's: what is packed, computed again, warned of, refused."""

from __future__ import annotations

import importlib
import inspect
import warnings
from typing import Any

import pytest

import rushlight

torch = pytest.importorskip("torch")


def _packed(t: Any, program: Any) -> Any:
    """What a program saves, as lists rounded to what libraries of functions agree on."""
    x = t.tensor([0.5, -1.25], requires_grad=True, dtype=t.float64)
    seen: list[Any] = []
    with t.autograd.graph.saved_tensors_hooks(
        lambda v: (seen.append((v.requires_grad, v.is_leaf, v.numpy(force=True).round(9).tolist())), v)[1],
        lambda v: v,
    ):
        program(t, x)
    return seen


@pytest.mark.parametrize(
    "program",
    [
        lambda t, x: x * x,
        lambda t, x: (x + 1) * x,
        lambda t, x: x.exp(),
        lambda t, x: x.sin().cos().tanh(),
        lambda t, x: x.softmax(0),
        lambda t, x: x.relu(),
        lambda t, x: x @ x,
        lambda t, x: x * 2 + 1,
        lambda t, x: t.outer(x, x.detach()),
        lambda t, x: x.view(2, 1).t(),
    ],
)
def test_what_is_packed(program: Any) -> None:
    assert _packed(rushlight, program) == _packed(torch, program)


def _told(t: Any, run: Any) -> Any:
    checkpoints = importlib.import_module(f"{t.__name__}.utils.checkpoint")
    t.manual_seed(3)
    x, w = t.randn(4, dtype=t.float64, requires_grad=True), t.randn(4, dtype=t.float64, requires_grad=True)
    calls: list[int] = []

    def f(v: Any, power: Any = 1) -> Any:
        calls.append(len(calls))
        return t.nn.functional.dropout((v * w).sin() ** power, 0.5).exp()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            y = run(t, checkpoints, f, x)
            y.sum().backward()
            found: Any = [
                [None if g is None else g.numpy(force=True).round(9).tolist() for g in (y, x.grad, w.grad)],
                t.rand(1).item(),
            ]
        except Exception as error:
            found = [cls.__name__ for cls in type(error).__mro__], str(error)[:60]
    return found, len(calls), [(w.category.__name__, str(w.message)) for w in caught]


@pytest.mark.parametrize(
    "run",
    [
        lambda t, c, f, x: c.checkpoint(f, x),
        lambda t, c, f, x: c.checkpoint(f, x, use_reentrant=False),
        lambda t, c, f, x: c.checkpoint(f, x, use_reentrant=False, power=2),
        lambda t, c, f, x: c.checkpoint(f, x, use_reentrant=True, power=2),
        lambda t, c, f, x: c.checkpoint(f, x, use_reentrant=True, preserve_rng_state=False),
        lambda t, c, f, x: c.checkpoint(f, x, use_reentrant=False, preserve_rng_state=False),
        lambda t, c, f, x: c.checkpoint(f, x, use_reentrant=False, determinism_check="x"),
        lambda t, c, f, x: c.checkpoint(f, x.detach(), use_reentrant=True),
        lambda t, c, f, x: c.checkpoint(f, x.detach(), use_reentrant=False),
        lambda t, c, f, x: c.checkpoint_sequential([f, f, f], 2, x),
        lambda t, c, f, x: c.checkpoint_sequential([f, f, f], 2, x, use_reentrant=False),
        lambda t, c, f, x: c.checkpoint_sequential([f, f, f], 2, x, use_reentrant=False, power=2),
        lambda t, c, f, x: c.checkpoint(
            lambda v: c.checkpoint(f, f(v), use_reentrant=False), x, use_reentrant=False
        ),
        lambda t, c, f, x: c.checkpoint(
            lambda v: c.checkpoint(f, f(v), use_reentrant=True), x, use_reentrant=True
        ),
        lambda t, c, f, x: t.autograd.grad(c.checkpoint(f, x, use_reentrant=True).sum(), x)[0],
        lambda t, c, f, x: c.checkpoint(f, x, use_reentrant=False, debug=True, context_fn=lambda: (1, 2)),
        lambda t, c, f, x: c.checkpoint(f, x, use_reentrant=True, debug=True),
    ],
)
def test_checkpoint(run: Any) -> None:
    assert _told(rushlight, run) == _told(torch, run)


def _written(t: Any, v: Any) -> Any:
    y = v * 2
    z = y.add_(1).exp()
    copy = z.clone()
    copy[0].mul_(3)
    return copy * z


def _deep(c: Any, level: int) -> Any:
    if not level:
        return lambda v: v.sin().exp()
    return lambda v: (
        c.checkpoint(
            _deep(c, level - 1),
            c.checkpoint(_deep(c, level - 1), v.cos(), use_reentrant=False).tanh(),
            use_reentrant=False,
        )
        + v
    )


@pytest.mark.parametrize(
    "run",
    [
        lambda t, c, f, x: c.checkpoint(lambda v: _written(t, v), x, use_reentrant=False),
        lambda t, c, f, x: c.checkpoint(
            lambda v: t.autograd.grad((v**3).sum(), v, create_graph=True)[0] * f(v), x, use_reentrant=False
        ),
        lambda t, c, f, x: _deep(c, 3)(x),
        lambda t, c, f, x: c.checkpoint(
            lambda v: c.checkpoint(f, v.cos(), use_reentrant=True), x, use_reentrant=False
        ),
        lambda t, c, f, x: c.checkpoint(lambda d, k: d["x"].sin() * k, {"x": x}, k=3, use_reentrant=False),
    ],
)
def test_inside_of_checkpoints(run: Any) -> None:
    assert _told(rushlight, run) == _told(torch, run)


@pytest.mark.parametrize(
    "name",
    [
        "checkpoint",
        "checkpoint_sequential",
        "set_checkpoint_early_stop",
        "set_checkpoint_debug_enabled",
        "detach_variable",
        "check_backward_validity",
    ],
)
def test_signatures(name: str) -> None:
    def told(t: Any) -> Any:
        function = getattr(importlib.import_module(f"{t.__name__}.utils.checkpoint"), name)
        return [
            (p.name, p.kind, "function" if callable(p.default) else p.default)
            for p in inspect.signature(function).parameters.values()
        ]

    assert told(rushlight) == told(torch)


def test_selective_checkpointing_keeps_what_pytorch_keeps():
    import functools

    def run(t):
        told = []

        def policy(context, op, *args, **kwargs):
            name = (
                getattr(op, "_opname", None) or str(op).removeprefix("aten.").partition(".")[0]
                if t is torch
                else op.__name__
            )
            told.append((context.is_recompute, name, [tuple(a.shape) for a in args]))
            keep = t.utils.checkpoint.CheckpointPolicy.MUST_SAVE
            return keep if name == "mm" else t.utils.checkpoint.CheckpointPolicy.PREFER_RECOMPUTE

        t.manual_seed(0)
        x = t.randn(3, 3, requires_grad=True)
        context_fn = functools.partial(t.utils.checkpoint.create_selective_checkpoint_contexts, policy)
        out = t.utils.checkpoint.checkpoint(
            lambda x: t.mm(t.mm(x, x).sigmoid(), x).sin().exp(), x, use_reentrant=False, context_fn=context_fn
        )
        out.sum().backward()
        return [entry for entry in told if not entry[0]], x.grad.tolist()

    ours, theirs = run(rushlight), run(torch)
    assert ours[0] == theirs[0]
    torch.testing.assert_close(torch.tensor(ours[1]), torch.tensor(theirs[1]))
