"""Modules whose exported programs PyTorch and Rushlight must write alike; `t` is either."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


def modules(t: Any) -> dict[str, tuple[Any, tuple[Any, ...], dict[str, Any], Any]]:
    """name: (module, args, kwargs, dynamic_shapes)."""
    nn, Dim, x = t.nn, t.export.Dim, t.ones(2, 3, 8, 8)
    cnn = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 2),
        nn.Dropout(0.5),
    )
    mlp = nn.Sequential(nn.Linear(4, 2), nn.ReLU())
    heads = _module(t, _heads)
    heads.register_buffer("k", t.ones(8))
    heads.register_buffer("hidden", t.ones(1), persistent=False)
    heads.c = t.ones(8)
    return {
        "mlp": (mlp, (t.ones(3, 4),), {}, None),
        "batch": (mlp, (t.ones(3, 4),), {}, ({0: Dim("b", min=1, max=64)},)),
        "auto": (mlp, (t.ones(3, 4),), {}, {"input": {0: Dim.AUTO}}),
        "cnn eval": (cnn.eval(), (x,), {}, None),
        "cnn train": (
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True)),
            (x,),
            {},
            None,
        ),
        "heads": (
            heads,
            (t.ones(3, 8),),
            {"d": {"q": t.ones(2)}},
            {"x": {0: Dim("batch")}, "d": {"q": None}},
        ),
        "layers": (
            nn.Sequential(nn.Embedding(9, 4), nn.LayerNorm(4), nn.GELU(), nn.LogSoftmax(-1)),
            (t.ones(2, 3, dtype=t.int64),),
            {},
            None,
        ),
        "operators": (_module(t, _operators), (t.ones(3, 4),), {}, None),
        "two": (
            _module(t, lambda self, t, x, y: x @ y),
            (t.ones(3, 4), t.ones(4, 5)),
            {},
            {"x": {0: Dim("n"), 1: Dim("k")}, "y": {0: Dim("k"), 1: None}},
        ),
    }


def _module(t: Any, forward: Callable[..., Any]) -> Any:
    if forward is _heads:

        class Made(t.nn.Module):
            def forward(self, x, *, d=None):
                return forward(self, t, x, d)
    elif forward.__name__ == "<lambda>":

        class Made(t.nn.Module):
            def forward(self, x, y):
                return forward(self, t, x, y)
    else:

        class Made(t.nn.Module):
            def forward(self, x):
                return forward(self, t, x)

    return Made()


def _heads(self, t, x, d):
    h = x * self.k + self.c + self.hidden + t.tensor([1.0, 2.0] * 4)
    v, i = x.max(1)
    a = x.unbind(1)[0]
    return {"a": h.view(h.size(0) * 2, -1), "b": (a, v, i, x.shape[0] * 2, None, 3)}, t.zeros(x.shape[0])


def _operators(self, t, x):
    F = t.nn.functional
    return (
        1 - x,
        x / 2,
        x**2,
        -x,
        x > 0,
        x.mean(1),
        x.sum(dim=(0, 1)),
        x.reshape(-1),
        x.transpose(0, 1),
        x.permute(1, 0),
        x.softmax(-1),
        t.cat([x, x], 1),
        t.stack([x, x]),
        x.split(2, 1),
        x.chunk(2, 1),
        x.to(t.float64),
        x.clamp(0, 1),
        x.unsqueeze(0),
        x[0],
        F.pad(x, (1, 1)),
        t.where(x > 0, x, 0.0),
        x.masked_fill(x > 0, 0.0),
        t.arange(4),
        t.full((2,), 1.5),
        F.relu(x),
        x.std(),
        x.argmax(1),
        t.matmul(x, x.t()),
        x.expand(3, 4),
        F.scaled_dot_product_attention(x, x, x),
        x.clone().add_(1),
    )


def texts(t: Any) -> dict[str, str]:
    """What is printed of each program, but for places in files."""
    found = {}
    for name, (mod, args, kwargs, shapes) in modules(t).items():
        ep = t.export.export(mod, args, kwargs, dynamic_shapes=shapes)
        found[name] = re.sub(r"\n *# .*", "", str(ep))
        found[f"{name} graph"] = str(ep.graph)
        found[f"{name} module"] = ep.module().code
        found[f"{name} state"] = str(
            (
                list(ep.state_dict),
                list(ep.constants),
                [n for n, _ in ep.named_parameters()],
                [n for n, _ in ep.named_buffers()],
            )
        )
    return found


def asserting(t: Any) -> Any:
    """A function that goes on by what it asserts; here, as pytest rewrites the assertions of test files."""

    def function(x: Any) -> Any:
        n = x.item()
        t._check(n > 4)
        assert n < 10
        return x + 1 if n > 2 else x - 1

    return function
