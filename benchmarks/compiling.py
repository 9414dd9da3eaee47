"""Workloads of compile(): Rushlight compiles them, PyTorch runs them eagerly, fused where it can.

PyTorch's own compiler needs a C++ compiler and many seconds for each, and does not gain on most of them.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.workloads import EXAMPLES, workload

Call = Callable[[], Any]


def compiled(torch: Any, function: Any, mode: str = "reduce-overhead") -> Any:
    """Rushlight's compiled function; PyTorch's as it is."""
    return torch.compile(function, mode=mode) if hasattr(torch, "explain") else function


def training(
    torch: Any, model: Any, optimizer: Any, data: tuple[Any, Any], mode: str = "reduce-overhead"
) -> Call:
    """A whole training step of a classifier."""

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    made = compiled(torch, step, mode)
    return lambda: made(*data)


def mlp(torch: Any, *sizes: int, dropout: float = 0.0) -> Any:
    """Linear layers with ReLU (and dropout) between them."""
    layers: list[Any] = []
    for a, b in zip(sizes, sizes[1:], strict=False):
        layers += [torch.nn.Linear(a, b), torch.nn.ReLU()]
        layers += [torch.nn.Dropout(dropout)] if dropout else []
    return torch.nn.Sequential(*layers[: -2 if dropout else -1])


@workload("compiled, default mode: MLP 20-64-32-2, batch 64, AdamW step", 0.5)
def compiled_mlp_default(torch: Any) -> Call:
    model = mlp(torch, 20, 64, 32, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    return training(torch, model, optimizer, (torch.randn(64, 20), torch.randint(2, (64,))), "default")


@workload("compiled: MLP 784-256-256-10, dropout, batch 64, Adam step", 0.7)
def compiled_mlp_wide(torch: Any) -> Call:
    model = mlp(torch, 784, 256, 256, 10, dropout=0.2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    return training(torch, model, optimizer, (torch.randn(64, 784), torch.randint(10, (64,))))


def _char_gpt(torch: Any) -> tuple[Any, Any, Any, Any]:
    # The example says `import torch`: the worker has made that name mean the module under test.
    spec = importlib.util.spec_from_file_location("char_gpt", EXAMPLES / "char_gpt.py")
    if spec is None or spec.loader is None:
        raise ImportError("examples/char_gpt.py is not there")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    sys.modules["char_gpt"] = example  # PyTorch's compiler imports it by name
    model = example.GPT(96, 64, dropout=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, fused=True)
    return model, optimizer, torch.randint(96, (12, 64)), torch.randint(96, (12, 64))


def _char_gpt_step(torch: Any, bfloat16: bool) -> Call:
    model, optimizer, x, y = _char_gpt(torch)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            _, loss = model(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    made = compiled(torch, step)
    return lambda: made(x, y)


@workload("compiled: char_gpt, the whole step", 0.8)
def compiled_char_gpt(torch: Any) -> Call:
    return _char_gpt_step(torch, False)


@workload("compiled: char_gpt, the whole step in bfloat16 autocast", 0.9)
def compiled_char_gpt_bf16(torch: Any) -> Call:
    return _char_gpt_step(torch, True)


@workload("compiled: char_gpt, model = torch.compile(model)", 0.8)
def compiled_char_gpt_model(torch: Any) -> Call:
    model, optimizer, x, y = _char_gpt(torch)
    called = compiled(torch, model, "default")

    def step() -> None:
        optimizer.zero_grad()
        called(x, y)[1].backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


@workload("compiled: CNN 1-32-64 on 28 x 28, batch 64, SGD step")
def compiled_cnn(torch: Any) -> Call:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 12 * 12, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return training(torch, model, optimizer, (torch.randn(64, 1, 28, 28), torch.randint(10, (64,))))


def _resnet(torch: Any) -> Any:
    nn = torch.nn

    base: Any = nn.Module

    class Block(base):
        def __init__(self, inside: int, outside: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
            self.norm1, self.norm2 = nn.BatchNorm2d(outside), nn.BatchNorm2d(outside)
            self.short = (
                nn.Sequential()
                if inside == outside
                else nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))
            )

        def forward(self, x: Any) -> Any:
            h = torch.relu(self.norm1(self.conv1(x)))
            return torch.relu(self.norm2(self.conv2(h)) + self.short(x))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    width = 64
    for outside in (64, 128, 256, 512):
        layers += [Block(width, outside, 1 if width == outside else 2), Block(outside, outside, 1)]
        width = outside
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


@workload("compiled: ResNet-18 shape, 8 x 3 x 64 x 64, SGD step")
def compiled_resnet(torch: Any) -> Call:
    model = _resnet(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    return training(torch, model, optimizer, (torch.randn(8, 3, 64, 64), torch.randint(1000, (8,))))


@workload("compiled: LSTM(128, 256, 2 layers), T 64, batch 32, Adam step", 0.9)
def compiled_lstm(torch: Any) -> Call:
    model = torch.nn.LSTM(128, 256, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    x = torch.randn(64, 32, 128)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x)[0].square().mean()
        loss.backward()
        optimizer.step()
        return loss

    made = compiled(torch, step)
    return lambda: made(x)


@workload("compiled: ten pointwise ops and a sum, 4096 x 1024", 0.4)
def compiled_chain(torch: Any) -> Call:
    def chain(x: Any) -> Any:
        y = torch.tanh(x * 0.5 + 1)
        y = torch.sigmoid(y - x) * x
        return (torch.relu(y + 0.1) * 2 - y).sum()

    made, x = compiled(torch, chain), torch.randn(4096, 1024)

    def call() -> Any:
        with torch.no_grad():
            return made(x)

    return call
