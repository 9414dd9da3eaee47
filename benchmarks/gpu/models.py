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
