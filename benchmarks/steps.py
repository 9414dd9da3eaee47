"""python -m benchmarks.steps: eager training steps beside PyTorch, both in this process, in turn.

    --only REGEX   names or variants to run    --rounds N   interleaved rounds (7)

It needs an interpreter with PyTorch. One thread, the processor's time, medians. A step is the forward pass,
the loss, the backward pass and a fused AdamW. The variants: as they are, channels last for images, and
bfloat16 autocast. The last columns: ours by the same variant of PyTorch's, and by its best of that precision.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from importlib import import_module
from statistics import median
from time import thread_time
from typing import Any

from benchmarks.measure import thread_counts

Step = Callable[[], Any]
Made = tuple[Any, Callable[[Any], Any]]


def char_gpt(torch: Any, last: bool) -> Made:
    """Four layers, 128 wide, 64 tokens, 16 sequences."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.LayerNorm(128), nn.LayerNorm(128)
            self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)
            self.mlp = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))

        def forward(self, x: Any) -> Any:
            n, t, c = x.shape
            parts = self.qkv(self.one(x)).split(c, 2)
            q, k, v = (p.view(n, t, 4, c // 4).transpose(1, 2) for p in parts)
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(n, t, c))
            return x + self.mlp(self.two(x))

    class GPT(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(65, 128), nn.Embedding(64, 128)
            self.blocks = nn.Sequential(*[Block() for _ in range(4)])
            self.norm, self.head = nn.LayerNorm(128), nn.Linear(128, 65)

        def forward(self, ids: Any) -> Any:
            x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
            return self.head(self.norm(self.blocks(x)))

    model, ids = GPT(), torch.randint(0, 65, (16, 65))
    return model, lambda m: functional.cross_entropy(m(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def resnet(torch: Any, last: bool) -> Made:
    """ResNet-18's shape on four images of 64 x 64."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self, a: int, b: int, stride: int) -> None:
            super().__init__()
            self.one, self.two = (
                nn.Conv2d(a, b, 3, stride, 1, bias=False),
                nn.Conv2d(b, b, 3, 1, 1, bias=False),
            )
            self.norm, self.norm2 = nn.BatchNorm2d(b), nn.BatchNorm2d(b)
            plain = a == b and stride == 1
            short = nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))
            self.short = nn.Identity() if plain else short

        def forward(self, x: Any) -> Any:
            y = self.norm2(self.two(self.norm(self.one(x)).relu()))
            return (y + self.short(x)).relu()

    widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1)]
    widths += [(128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1)]
    stem = (nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    tail = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    model = nn.Sequential(*stem, *[Block(*w) for w in widths], *tail)
    x, y = torch.randn(4, 3, 64, 64), torch.randint(0, 10, (4,))
    if last:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    return model, lambda m: torch.nn.functional.cross_entropy(m(x), y)


def unet(torch: Any, last: bool) -> Made:
    """Three levels, from 16 channels, two images of 64 x 64."""
    nn = torch.nn

    def double(a: int, b: int) -> Any:
        parts = [(nn.Conv2d(c, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True)) for c in (a, b)]
        return nn.Sequential(*parts[0], *parts[1])

    class UNet(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.d1, self.d2, self.d3 = double(3, 16), double(16, 32), double(32, 64)
            self.up2, self.up1 = nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)
            self.u2, self.u1, self.out = double(64, 32), double(32, 16), nn.Conv2d(16, 1, 1)

        def forward(self, x: Any) -> Any:
            a = self.d1(x)
            b = self.d2(nn.functional.max_pool2d(a, 2))
            c = self.d3(nn.functional.max_pool2d(b, 2))
            b = self.u2(torch.cat([self.up2(c), b], 1))
            return self.out(self.u1(torch.cat([self.up1(b), a], 1)))

    model, x = UNet(), torch.randn(2, 3, 64, 64)
    y = (torch.randn(2, 1, 64, 64) > 0).float()
    if last:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    return model, lambda m: nn.functional.binary_cross_entropy_with_logits(m(x).float(), y)


def lstm(torch: Any, last: bool) -> Made:
    """Two layers of 128 on 16 sequences of 32."""
    nn = torch.nn

    class Tagger(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = nn.LSTM(64, 128, 2, batch_first=True), nn.Linear(128, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0])

    model, x, y = Tagger(), torch.randn(16, 32, 64), torch.randint(0, 10, (512,))
    return model, lambda m: nn.functional.cross_entropy(m(x).flatten(0, 1), y)


def padded(torch: Any, last: bool) -> Made:
    """Two encoder layers of 128, with padding."""
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, dropout=0.1)
    model, x = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.randn(8, 48, 128)
    mask = torch.arange(48)[None] >= torch.randint(20, 49, (8, 1))
    return model, lambda m: m(x, src_key_padding_mask=mask).square().mean()


MODELS = {"char-GPT": char_gpt, "ResNet-18": resnet, "U-Net": unet, "LSTM": lstm, "padded": padded}
IMAGES = ("ResNet-18", "U-Net")


def made(torch: Any, name: str, last: bool, autocast: bool) -> Step:
    """A step of one variant."""
    torch.manual_seed(0)
    model, loss = MODELS[name](torch, last)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            found = loss(model)
        found.backward()
        optimizer.step()

    return step


def measured(steps: list[Step], rounds: int) -> list[float]:
    """The median seconds of each, in turn."""
    times: list[list[float]] = [[] for _ in steps]
    for step in steps:
        for _ in range(4):
            step()
    for _ in range(rounds):
        for step, found in zip(steps, times, strict=True):
            step()
            start = thread_time()
            for _ in range(3):
                step()
            found.append((thread_time() - start) / 3)
    return [median(found) for found in times]


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--only", default="")
    options.add_argument("--rounds", type=int, default=7)
    asked = options.parse_args()
    os.environ.update(thread_counts(1))
    packages = [import_module(package) for package in ("rushlight", "torch")]
    packages[1].set_num_threads(1)
    for name in MODELS:
        for autocast in (False, True):
            best = float("inf")
            lines = []
            for last in (False, True)[: 1 + (name in IMAGES)]:
                label = f"{name}{', channels last' * last}{', bfloat16' * autocast}"
                if re.search(asked.only, label):
                    steps = [made(package, name, last, autocast) for package in packages]
                    ours, theirs = measured(steps, asked.rounds)
                    best = min(best, theirs)
                    lines.append((label, ours, theirs))
            for label, ours, theirs in lines:
                print(
                    f"{label:36} {1e3 * ours:9.2f} ms {1e3 * theirs:9.2f} ms {ours / theirs:7.2f}"
                    f" {ours / best:7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
