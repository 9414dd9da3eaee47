"""Laws of flex_attention, of causal biases and of the gradients of convolutions as functions."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch
from rushlight.nn import common_types, functional as F, grad
from rushlight.nn.attention import bias, flex_attention as flex


def _inputs(heads: int = 4) -> list[Any]:
    torch.manual_seed(0)
    return [
        torch.randn(*shape, requires_grad=True)
        for shape in ((2, 4, 9, 8), (2, heads, 11, 8), (2, heads, 11, 6))
    ]


def _close(got: Any, wanted: Any) -> None:
    torch.testing.assert_close(got, wanted, atol=2e-6, rtol=1e-5)


def test_without_functions_it_is_attention() -> None:
    _close(flex.flex_attention(*_inputs()), F.scaled_dot_product_attention(*_inputs()))
    _close(
        flex.flex_attention(*_inputs(2), enable_gqa=True, scale=0.3),
        F.scaled_dot_product_attention(*_inputs(2), enable_gqa=True, scale=0.3),
    )


@pytest.mark.parametrize(("corner", "offset"), [("causal_upper_left", 0), ("causal_lower_right", 2)])
def test_masks_and_scores_are_biases(corner: str, offset: int) -> None:
    q, k, v = _inputs()
    mask = getattr(bias, corner)(9, 11)
    wanted = F.scaled_dot_product_attention(q, k, v, mask)
    block = flex.create_block_mask(lambda b, h, i, j: i + offset >= j, None, None, 9, 11, "cpu", 4)
    _close(flex.flex_attention(q, k, v, block_mask=block), wanted)
    assert block.shape == (1, 1, 9, 11) and block.to_dense().shape == (1, 1, 3, 3)
    masked = flex.flex_attention(
        q, k, v, lambda s, b, h, i, j: torch.where(i + offset >= j, s, -float("inf"))
    )
    _close(masked, wanted)
    got, expected = (torch.autograd.grad(o.square().sum(), q, retain_graph=True)[0] for o in (masked, wanted))
    _close(got, expected)


def test_rows_that_see_nothing_are_zero() -> None:
    out, lse = flex.flex_attention(
        *_inputs(),
        block_mask=flex.create_block_mask(
            flex.and_masks(lambda b, h, i, j: i > j, flex.noop_mask), 2, 4, 9, 11
        ),
        return_lse=True,
    )
    assert out[:, :, 0].eq(0).all() and lse[:, :, 0].isneginf().all() and out.isfinite().all()


def test_mistakes() -> None:
    q, k, v = _inputs()
    with pytest.raises(NotImplementedError, match="must be 4D"):
        flex.flex_attention(q[0], k, v)
    with pytest.raises(ValueError, match="same number of heads"):
        flex.flex_attention(q, k[:, :2], v[:, :2])
    with pytest.raises(ValueError, match="block_mask was created for"):
        flex.flex_attention(q, k, v, block_mask=flex.create_block_mask(flex.noop_mask, None, None, 4, 4))
    with pytest.raises(RuntimeError, match="callable mask_mods"):
        flex.or_masks(3)
    with pytest.raises(AssertionError, match="2D"):
        bias.causal_upper_left(3)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions(dims: int) -> None:
    x, w = (torch.randn(*shape, requires_grad=True) for shape in ((2, 4, *[6] * dims), (6, 2, *[3] * dims)))
    out = getattr(F, f"conv{dims}d")(x, w, None, 2, 1, 1, 2)
    g = torch.randn_like(out)
    to_x, to_w = torch.autograd.grad(out, (x, w), g)
    _close(getattr(grad, f"conv{dims}d_input")(x.shape, w, g, 2, 1, groups=2), to_x)
    _close(getattr(grad, f"conv{dims}d_weight")(x, w.shape, g, 2, 1, groups=2), to_w)


def test_types_have_names() -> None:
    assert common_types._size_2_t == int | tuple[int, int]
    assert common_types._ratio_any_t == float | tuple[float, ...]
