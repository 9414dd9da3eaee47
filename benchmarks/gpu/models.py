"""The models of benchmarks.gpu, as programs write them; `torch` is the library that the worker has loaded."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

torch: Any = sys.modules.get("torch") or import_module("rushlight")
nn = torch.nn
F = nn.functional
base: Any = nn.Module


class Block(base):
    """Attention and a feed-forward network."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        """(n, t, width) to the same."""
        n, t, _ = x.shape
        sizes = n, t, 3, self.heads, self.width // self.heads
        q, k, v = self.mix(self.one(x)).view(sizes).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(n, t, self.width))
        return x + self.narrow(F.gelu(self.wide(self.two(x))))


class GPT(base):
    """A GPT as nanoGPT has it: embeddings, blocks, a head."""

    def __init__(self, vocabulary: int, length: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: Any, targets: Any) -> Any:
        """The loss of (n, t) tokens."""
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        logits = self.head(self.norm(self.blocks(x)))
        return F.cross_entropy(logits.view(-1, self.vocabulary), targets.view(-1))


class Bottleneck(base):
    """Three convolutions beside a path that skips them (arXiv:1512.03385)."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = 4 * width
        self.one, self.two = (
            nn.Conv2d(before, width, 1, bias=False),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
        )
        self.three = nn.Conv2d(width, after, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(n) for n in (width, width, after)])
        self.skip = nn.Sequential()
        if stride > 1 or before != after:
            self.skip = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Any) -> Any:
        """(n, before, h, w) to (n, 4 * width, h / stride, w / stride)."""
        found = F.relu(self.norms[0](self.one(x)))
        found = F.relu(self.norms[1](self.two(found)))
        return F.relu(self.norms[2](self.three(found)) + self.skip(x))


def resnet(width: int, depths: tuple[int, ...], classes: int) -> Any:
    """A residual network of bottlenecks; ResNet-50 is (64, (3, 4, 6, 3), 1000)."""
    layers: list[Any] = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    layers += [nn.MaxPool2d(3, 2, 1)]
    before = width
    for stage, depth in enumerate(depths):
        for k in range(depth):
            layers.append(Bottleneck(before, width << stage, 2 if stage and not k else 1))
            before = 4 * width << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


def cnn(width: int) -> Any:
    """Three convolutions with norms and pools, and a classifier of ten."""
    layers, before = list[Any](), 3
    for k in (1, 2, 4):
        layers += [
            nn.Conv2d(before, width * k, 3, padding=1),
            nn.BatchNorm2d(width * k),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
        before = width * k
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 10))
