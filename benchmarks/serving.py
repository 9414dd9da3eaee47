"""Workloads of inference: the shape of GPT-2 small, 6 of its layers, over a prompt and token by token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.compiling import compiled
from benchmarks.workloads import workload

Call = Callable[[], Any]
WIDTH, HEADS, LAYERS, VOCABULARY, PROMPT = 768, 12, 6, 50257, 128


def _block(torch: Any) -> Any:
    nn, F = torch.nn, torch.nn.functional

    base: Any = nn.Module

    class Block(base):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.mlp = nn.Sequential(
                nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(4 * WIDTH, WIDTH)
            )

        def forward(self, x: Any, keys: Any = None, values: Any = None, place: int = 0) -> Any:
            n, t, width = x.shape
            q, k, v = (
                part.view(n, t, HEADS, width // HEADS).transpose(1, 2)
                for part in self.qkv(self.norm1(x)).split(width, 2)
            )
            if keys is not None:
                keys[:, :, place : place + t], values[:, :, place : place + t] = k, v
                k, v = keys[:, :, : place + t], values[:, :, : place + t]
            y = F.scaled_dot_product_attention(q, k, v, is_causal=keys is None)
            x = x + self.out(y.transpose(1, 2).reshape(n, t, width))
            return x + self.mlp(self.norm2(x))

    return Block()


def _gpt2(torch: Any, dtype: Any) -> Any:
    nn = torch.nn

    base: Any = nn.Module

    class GPT2(base):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(1024, WIDTH)
            self.blocks = nn.ModuleList([_block(torch) for _ in range(LAYERS)])
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, ids: Any, cache: Any = None, place: int = 0) -> Any:
            x = self.tokens(ids) + self.positions(torch.arange(place, place + ids.shape[1]))
            for k, block in enumerate(self.blocks):
                x = block(x) if cache is None else block(x, *cache[k], place)
            return self.norm(x[:, -1:]) @ self.tokens.weight.t()

    return GPT2().to(dtype).eval()


def _prefill(torch: Any, dtype: Any) -> Call:
    model, ids = _gpt2(torch, dtype), torch.randint(VOCABULARY, (1, PROMPT))
    made = compiled(torch, model, "default")

    def call() -> Any:
        with torch.no_grad():
            return made(ids)

    return call


def _decode(torch: Any, dtype: Any) -> Call:
    model, ids = _gpt2(torch, dtype), torch.randint(VOCABULARY, (1, 1))
    cache = [
        [torch.randn(1, HEADS, PROMPT + 1, WIDTH // HEADS, dtype=dtype) for _ in range(2)]
        for _ in range(LAYERS)
    ]

    def call() -> Any:
        with torch.no_grad():
            return model(ids, cache, PROMPT)

    return call


@workload("GPT-2 shape, 6 layers: a prompt of 128, float32")
def gpt2_prefill(torch: Any) -> Call:
    return _prefill(torch, torch.float32)


@workload("GPT-2 shape, 6 layers: a prompt of 128, bfloat16")
def gpt2_prefill_bf16(torch: Any) -> Call:
    return _prefill(torch, torch.bfloat16)


@workload("GPT-2 shape, 6 layers: a token after 128, float32")
def gpt2_decode(torch: Any) -> Call:
    return _decode(torch, torch.float32)


@workload("GPT-2 shape, 6 layers: a token after 128, bfloat16")
def gpt2_decode_bf16(torch: Any) -> Call:
    return _decode(torch, torch.bfloat16)
