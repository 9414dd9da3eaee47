"""flex_attention, gradients of convolutions and causal biases beside PyTorch's eager ones."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

SCORES: dict[str, Any] = {
    "relative": lambda t: lambda s, b, h, q, kv: s + (q - kv) * 0.1,
    "alibi": lambda t: lambda s, b, h, q, kv: s - (h + 1) * abs(q - kv),
    "soft cap": lambda t: lambda s, b, h, q, kv: 10 * t.tanh(s / 10),
    "causal": lambda t: lambda s, b, h, q, kv: t.where(q >= kv, s * 2, -float("inf")),
}
MASKS: dict[str, Any] = {
    "causal": lambda f: lambda b, h, q, kv: q >= kv,
    "window": lambda f: f.and_masks(lambda b, h, q, kv: q >= kv, lambda b, h, q, kv: q - kv < 3),
    "first row hidden": lambda f: lambda b, h, q, kv: q > kv,
    "either": lambda f: f.or_masks(lambda b, h, q, kv: q > 4, lambda b, h, q, kv: kv < 2),
}


def _flex(t: Any) -> Any:
    return import_module(t.__name__ + ".nn.attention.flex_attention")


def _inputs(t: Any, heads: int = 4) -> list[Any]:
    rng = np.random.RandomState(0)
    shapes = (2, 4, 9, 8), (2, heads, 11, 8), (2, heads, 11, 6)
    return [t.from_numpy(rng.randn(*shape).astype("f")) for shape in shapes]


def _same(compute: Any) -> None:
    wanted, got = ([np.asarray(value) for value in compute(t)] for t in (torch, rushlight))
    for a, b in zip(wanted, got, strict=True):
        np.testing.assert_allclose(b, a, atol=2e-5)


@pytest.mark.parametrize("name", SCORES)
def test_score_mod(name: str) -> None:
    _same(lambda t: _flex(t).flex_attention(*_inputs(t), score_mod=SCORES[name](t), return_lse=True))


@pytest.mark.parametrize("block", [4, 128])
@pytest.mark.parametrize("name", MASKS)
def test_block_mask(name: str, block: int) -> None:
    def compute(t: Any) -> list[Any]:
        flex = _flex(t)
        mask = flex.create_block_mask(MASKS[name](flex), None, None, 9, 11, "cpu", block)
        output = flex.flex_attention(*_inputs(t), block_mask=mask, return_lse=True)
        return [
            *output,
            mask.to_dense(),
            mask.kv_num_blocks,
            mask.kv_indices,
            mask.full_kv_num_blocks,
            mask.q_num_blocks,
            mask.sparsity(),
            mask.shape,
        ]

    _same(compute)


def test_options() -> None:
    _same(lambda t: [_flex(t).flex_attention(*_inputs(t), scale=0.3)])
    _same(lambda t: [_flex(t).flex_attention(*_inputs(t, 2), enable_gqa=True)])


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions(dims: int) -> None:
    def compute(t: Any) -> list[Any]:
        rng, grad = np.random.RandomState(1), import_module(t.__name__ + ".nn.grad")
        x, w, g = (
            t.from_numpy(rng.randn(*shape).astype("f"))
            for shape in ((2, 4, *[6] * dims), (6, 2, *[3] * dims), (2, 6, *[3] * dims))
        )
        return [
            getattr(grad, f"conv{dims}d_input")(x.shape, w, g, 2, 1, 1, 2),
            getattr(grad, f"conv{dims}d_weight")(x, w.shape, g, 2, 1, 1, 2),
        ]

    _same(compute)


@pytest.mark.parametrize("name", ["causal_upper_left", "causal_lower_right"])
def test_causal_bias(name: str) -> None:
    def compute(t: Any) -> list[Any]:
        q, k, v = _inputs(t)
        mask = getattr(import_module(t.__name__ + ".nn.attention.bias"), name)(9, 11)
        return [t.nn.functional.scaled_dot_product_attention(q, k, v, mask)]

    _same(compute)
