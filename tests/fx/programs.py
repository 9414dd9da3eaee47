"""Programs whose traces PyTorch and Rushlight must write alike; `t` is either."""

from __future__ import annotations

import math
import operator
from typing import Any


def net(t: Any) -> Any:
    """A module with most of what a trace meets: leaves, containers, state, constants, functions,
    operators.
    """
    F, nn = t.nn.functional, t.nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.bn, self.fc = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(16, 2)
            self.w = nn.Parameter(t.ones(2))
            self.register_buffer("b", t.ones(2))
            self.seq = nn.Sequential(nn.ReLU(), nn.Linear(2, 2))
            self.ml = nn.ModuleList([nn.Linear(2, 2)])
            self.t = t.ones(2)

        def forward(self, x, scale=2.0, *, k=None):
            h = F.relu(self.bn(self.conv1(x)))
            h = F.max_pool2d(h, 2)
            h = t.flatten(F.adaptive_avg_pool2d(h, 2), 1)
            y = self.fc(h) * scale + self.b * self.w
            z = self.seq(y).view(y.size(0), -1)
            z = z[:, 0:1] + z[..., 1].unsqueeze(1) - 1
            z = t.cat([z, z], dim=1) + self.t
            q = self.ml[0](z)
            q.add_(1)
            q += 1
            s = F.softmax(q, dim=-1)
            u, v, shape = t.sigmoid(s), s.mean(dim=1, keepdim=True), q.shape[0]
            w = F.gelu(q) + F.linear(q, q) @ q.t()
            n = F.dropout(F.layer_norm(q, (2,)), 0.1, self.training) * math.sqrt(2)
            loss = F.cross_entropy(q, q.argmax(1))
            return {"a": -q, "r": (q**2, 2 / q, [s, u], v, shape, w, loss, ~(q > 0), n, q[0])}

    return Net()


def functions(t: Any) -> Any:
    """A function of functions, methods and operators."""

    def f(a, b=1):
        return (
            t.relu(a) + b,
            t.add(a, b, alpha=2),
            a.sum(1),
            t.sum(a, dim=1),
            t.where(a > 0, a, b),
            t.matmul(a, a),
            a.T,
            t.ones_like(a),
            a.neg().exp(),
            abs(a),
            operator.add(a, 1),
            t.stack((a, a)),
            1 - a,
            a // 2,
            3 % a,
            a & 1,
        )

    return f


def texts(t: Any) -> dict[str, str]:
    """What is printed of traces, edits and errors."""
    fx = t.fx
    found = {}
    for name, program in (
        ("net", net(t)),
        ("functions", functions(t)),
        ("stars", lambda *a, **k: a[0] + k["b"]),
        ("attributes", lambda x: x.foo.bar(1)),
        ("unpacked", _unpacked),
        ("wrapped", lambda x: math.sqrt(x.size(0)) + math.floor(2.5)),
    ):
        gm = fx.symbolic_trace(program)
        found[f"{name} code"], found[f"{name} graph"] = gm.code, str(gm.graph)
    gm = fx.symbolic_trace(net(t))
    found["module"], found["readable"] = str(gm), gm.print_readable(print_output=False)
    found["users"] = str([(n.op, n.name, n.args, n.kwargs, list(n.users)) for n in gm.graph.nodes])
    found["edited"] = _edited(t)
    found["by hand"] = _by_hand(t)
    for name, program in (
        ("branch", lambda x: 1 if x.sum() > 0 else x),
        ("loop", lambda x: [i for i in x]),
        ("length", lambda x: len(x)),
        ("int", lambda x: int(x)),
        ("mapping", lambda x: {**x}),
    ):
        try:
            fx.symbolic_trace(program)
        except Exception as error:
            found[f"error {name}"] = f"{type(error).__name__}: {error}"
    return found


def _unpacked(x):
    a, b = x
    return a + b


def _edited(t: Any) -> str:
    fx = t.fx
    gm = fx.symbolic_trace(lambda x: t.relu(x) + 1)
    for node in gm.graph.nodes:
        if node.op == "call_function" and node.target == t.relu:
            with gm.graph.inserting_after(node):
                new = gm.graph.call_function(t.sigmoid, (node.args[0],))
            node.replace_all_uses_with(new)
            gm.graph.erase_node(node)
    gm.graph.lint()
    gm.recompile()

    class Swap(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(t.tanh if target == t.sigmoid else target, args, kwargs)

    values = [
        gm(t.zeros(2)).tolist(),
        fx.Interpreter(gm).run(t.zeros(2)).tolist(),
        Swap(gm).transform()(t.ones(1)),
    ]
    return f"{gm.code}{gm.graph}{Swap(gm).transform().code}{values}"


def _by_hand(t: Any) -> str:
    fx = t.fx
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_method("relu", (x,))
    z = graph.call_module("lin", (y,))
    graph.call_function(operator.mul, (z, 2))
    graph.output((graph.call_function(operator.getitem, (z, slice(None, 2))), graph.get_attr("lin.weight")))
    gm = fx.GraphModule(t.nn.ModuleDict({"lin": t.nn.Linear(2, 2)}), graph, "Foo")
    text = f"{gm.code}{gm}{graph}"
    try:
        graph.erase_node(y)
    except RuntimeError as error:
        text += str(error)
    gm.graph.eliminate_dead_code()
    gm.recompile()
    return text + gm.code
