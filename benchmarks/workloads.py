"""What is timed. A workload is a function of a torch-like module that prepares its inputs and returns
the call to be timed; the same code runs on Rushlight and on PyTorch. Its decorator says how it is
shown and the bar: the most that Rushlight may take of PyTorch's time.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LARGE = (4096, 1024)


@dataclass(frozen=True)
class Workload:
    """One row of the table."""

    title: str
    bar: float
    prepare: Callable[[Any], Callable[[], Any]]


WORKLOADS: dict[str, Workload] = {}


def workload(title: str, bar: float = 1.0) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Enter a function under its own name."""

    def enter(prepare: Callable[[Any], Any]) -> Callable[[Any], Any]:
        WORKLOADS[prepare.__name__] = Workload(title, bar, prepare)
        return prepare

    return enter


# --- the cost of a call -----------------------------------------------------------------------------


@workload("a + b, 4 x 8")
def small_add(torch: Any) -> Callable[[], Any]:
    a, b = torch.randn(4, 8), torch.randn(4, 8)
    return lambda: a + b


@workload("a + b, 4 x 8, tracked")
def small_add_tracked(torch: Any) -> Callable[[], Any]:
    a, b = torch.randn(4, 8, requires_grad=True), torch.randn(4, 8)
    return lambda: a + b


@workload("x[1], 4 x 8")
def small_index(torch: Any) -> Callable[[], Any]:
    x = torch.randn(4, 8)
    return lambda: x[1]


@workload("Linear(8, 8) forward, batch 4")
def small_linear(torch: Any) -> Callable[[], Any]:
    layer, x = torch.nn.Linear(8, 8), torch.randn(4, 8)
    return lambda: layer(x)


@workload("sum of 4 x 8, backward")
def small_backward(torch: Any) -> Callable[[], Any]:
    x = torch.randn(4, 8, requires_grad=True)
    return lambda: x.sum().backward()


# --- training steps ---------------------------------------------------------------------------------


@workload("MLP 20-64-32-2, batch 64, AdamW step")
def mlp_step(torch: Any) -> Callable[[], Any]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randn(64, 20), torch.randint(2, (64,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


@workload("the same, compiled whole / fused=True", 0.2)
def mlp_step_compiled(torch: Any) -> Callable[[], Any]:
    """Each framework's best: PyTorch's compiler makes this step slower than its eager one."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    x, y = torch.randn(64, 20), torch.randint(2, (64,))

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    if hasattr(torch, "explain"):
        step = torch.compile(step, mode="reduce-overhead")
    return lambda: step(x, y)


@workload("small CNN on 8 x 8 digits, batch 64, AdamW step")
def cnn_step(torch: Any) -> Callable[[], Any]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 4 * 4, 10),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randn(64, 1, 8, 8), torch.randint(10, (64,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


@workload("char_gpt step, as in the example")
def char_gpt_step(torch: Any) -> Callable[[], Any]:
    # The example says `import torch`: the worker has made that name mean the module under test.
    spec = importlib.util.spec_from_file_location("char_gpt", EXAMPLES / "char_gpt.py")
    if spec is None or spec.loader is None:
        raise ImportError("examples/char_gpt.py is not there")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    model = example.GPT(96, 64, dropout=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
    data = torch.randint(96, (100_000,))

    def step() -> None:
        _, loss = model(*example.get_batch(data, 12, 64))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


# --- large arrays, forward and backward -------------------------------------------------------------


def _forward(function: Callable[..., Any]) -> Callable[[Any], Callable[[], Any]]:
    def prepare(torch: Any) -> Callable[[], Any]:
        x = torch.randn(*LARGE)
        return lambda: function(torch, x)

    return prepare


def _both_ways(function: Callable[..., Any]) -> Callable[[Any], Callable[[], Any]]:
    def prepare(torch: Any) -> Callable[[], Any]:
        x = torch.randn(*LARGE, requires_grad=True)
        seed = torch.ones_like(function(torch, x))

        def run() -> None:
            x.grad = None
            function(torch, x).backward(seed)

        return run

    return prepare


def _cross_entropy(torch: Any, x: Any) -> Any:
    return torch.nn.functional.cross_entropy(x, torch.arange(x.shape[0]) % x.shape[1])


for _name, _function in {
    "add": lambda torch, x: x + x,
    "exp": lambda torch, x: x.exp(),
    "gelu": lambda torch, x: torch.nn.functional.gelu(x),
    "softmax": lambda torch, x: torch.softmax(x, dim=-1),
    "layer_norm": lambda torch, x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
    "cross_entropy": _cross_entropy,
    "sum": lambda torch, x: x.sum(),
    "sum_rows": lambda torch, x: x.sum(dim=0),
}.items():
    WORKLOADS[_name] = Workload(f"{_name}, 4096 x 1024", 1.0, _forward(_function))
    WORKLOADS[f"{_name}_backward"] = Workload(
        f"{_name}, 4096 x 1024, forward and backward", 1.0, _both_ways(_function)
    )


@workload("matmul, 512 x 512")
def matmul(torch: Any) -> Callable[[], Any]:
    a, b = torch.randn(512, 512), torch.randn(512, 512)
    return lambda: a @ b
