"""torch's functions of what transformers' encoders are in evaluation, and of pruned rows."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as torch

Tensor = torch.Tensor
private: Any = torch


def _attention() -> tuple[Any, tuple[Any, ...], Tensor]:
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    out = layer.out_proj
    held = (8, 2, layer.in_proj_weight, layer.in_proj_bias, out.weight, out.bias)
    return layer, held, torch.randn(2, 3, 8)


@pytest.mark.parametrize("average", [True, False])
def test_attention_is_the_layers(average: bool) -> None:
    layer, held, x = _attention()
    padding = torch.tensor([[False, False, True], [False, False, False]])
    with torch.no_grad():
        wanted = layer(x, x, x, key_padding_mask=padding, average_attn_weights=average)
        found = private._native_multi_head_attention(x, x, x, *held, padding, True, average, 1)
        torch.testing.assert_close(found, wanted)
        assert private._native_multi_head_attention(x, x, x, *held, None, False)[1] is None


def test_attention_of_parts_of_several_lengths() -> None:
    layer, held, x = _attention()
    nested = torch.nested.nested_tensor([x[0], x[1, :2]])
    with torch.no_grad():
        found, weights = private._native_multi_head_attention(
            nested, nested, nested, *held, None, True, False
        )
        parts = [layer(t, t, t, average_attn_weights=False) for t in (x[:1], x[1:, :2])]
    for got, (wanted, _) in zip(found.unbind(), parts, strict=True):
        torch.testing.assert_close(got, wanted[0])
    torch.testing.assert_close(weights[1, :, :2, :2], parts[1][1][0])
    assert weights[1, :, 2].abs().sum() == 0
    with pytest.raises(RuntimeError, match="NestedTensor with mask is not supported yet"):
        private._native_multi_head_attention(nested, nested, nested, *held, torch.zeros(2, 3))


def test_attention_refuses_gradients_and_other_shapes() -> None:
    _, held, x = _attention()
    found = private._native_multi_head_attention(x, x, x, *held)[0]
    with pytest.raises(RuntimeError, match="derivative for aten::_native_multi_head_attention is not"):
        found.sum().backward()
    with pytest.raises(RuntimeError, match="expected 3-D `query`, got 2-D tensor"):
        private._native_multi_head_attention(x[0], x, x, *held)
    with pytest.raises(RuntimeError, match="shapes to match"):
        private._native_multi_head_attention(x, x[:, :2], x, *held)
    with pytest.raises(RuntimeError, match="Mask Type should be defined"):
        private._native_multi_head_attention(x, x, x, *held, torch.zeros(2, 3))


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_layer_of_an_encoder(norm_first: bool) -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first).eval()
    inner = layer.self_attn
    held = (inner.in_proj_weight, inner.in_proj_bias, inner.out_proj.weight, inner.out_proj.bias)
    norms = (layer.norm1.weight, layer.norm1.bias, layer.norm2.weight, layer.norm2.bias)
    linear = (layer.linear1.weight, layer.linear1.bias, layer.linear2.weight, layer.linear2.bias)
    x = torch.randn(2, 3, 8)
    with torch.no_grad():
        found = private._transformer_encoder_layer_fwd(
            x, 8, 2, *held, False, norm_first, 1e-5, *norms, *linear
        )
        torch.testing.assert_close(found, layer(x))


def test_queries_are_divided_and_all_have_the_bias() -> None:
    torch.manual_seed(0)
    x, bias = torch.randn(2, 3, 24), torch.randn(24)
    q, k, v = private._transform_bias_rescale_qkv(x, bias, 2)
    wanted = (x + bias).view(2, 3, 3, 2, 4).permute(2, 0, 3, 1, 4)
    torch.testing.assert_close(torch.stack([q * 2, k, v]), wanted)
    with pytest.raises(RuntimeError, match="Expected D % num_head == 0 to be true"):
        private._transform_bias_rescale_qkv(x, bias, 3)


def test_rows_that_a_mask_keeps() -> None:
    rows, places = private._rowwise_prune(
        torch.arange(12).view(4, 3), torch.tensor([True, False, True, True]), torch.int32
    )
    assert rows.tolist() == [[0, 1, 2], [6, 7, 8], [9, 10, 11]]
    assert places.tolist() == [0, -1, 1, 2]
    assert places.dtype is torch.int32
    with pytest.raises(RuntimeError, match="should have 2 dimensions"):
        private._rowwise_prune(torch.ones(4), torch.ones(4) > 0, torch.int32)
    with pytest.raises(RuntimeError, match="either int\\(int32\\) or long\\(int64\\)"):
        private._rowwise_prune(torch.ones(4, 1), torch.ones(4) > 0, torch.float32)
