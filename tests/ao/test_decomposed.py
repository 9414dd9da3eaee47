"""torch.ops.quantized_decomposed: integers of tensors and back, also in graphs."""

import pytest

import rushlight as torch
import rushlight.ao.quantization.fx._decomposed
from rushlight.fx.experimental.proxy_tensor import make_fx

OPS = torch.ops.quantized_decomposed


def test_tensors_become_integers_and_back() -> None:
    x = torch.tensor([[-1.0, 0.0, 0.26], [2.0, 0.5, -0.13]])
    q = OPS.quantize_per_tensor(x, 0.1, 3, 0, 15, torch.uint8)
    assert q.tolist() == [[0, 3, 6], [15, 8, 2]]
    back = OPS.dequantize_per_tensor(q, 0.1, 3, 0, 15, torch.uint8)
    torch.testing.assert_close(back, torch.tensor([[-0.3, 0.0, 0.3], [1.2, 0.5, -0.1]]))
    scale, zero = torch.tensor([0.1]), torch.tensor([3])
    assert OPS.quantize_per_tensor.tensor(x, scale, zero, 0, 15, torch.uint8).equal(q)
    assert OPS.dequantize_per_tensor.tensor(q.to("meta"), scale, zero, 0, 15, torch.uint8).shape == (2, 3)
    with pytest.raises(AssertionError, match="quant_max_upper_bound: 255 quant_max: 300"):
        OPS.quantize_per_tensor(x, 0.1, 3, 0, 300, torch.uint8)
    with pytest.raises(
        AssertionError, match="Expecting input to have dtype: torch.uint8, but got torch.float"
    ):
        OPS.dequantize_per_tensor(x, 0.1, 3, 0, 15, torch.uint8)


def test_channels_rows_and_groups() -> None:
    x = torch.tensor([[1.0, -2.0], [4.0, 8.0]])
    scales, zeros = torch.tensor([0.5, 2.0]), torch.tensor([0, 1])
    q = OPS.quantize_per_channel(x, scales, zeros, 0, -128, 127, torch.int8)
    assert q.tolist() == [[2, -4], [3, 5]]
    assert OPS.dequantize_per_channel(q, scales, zeros, 0, -128, 127, torch.int8).equal(x)
    assert OPS.dequantize_per_channel(q, scales, None, 1, -128, 127, torch.int8).tolist() == [
        [1, -8],
        [1.5, 10],
    ]
    scales, zeros = OPS.choose_qparams_per_token_asymmetric(x, torch.int8)
    assert scales.dtype is torch.float64 and zeros.tolist() == [[42], [-128]]
    rows = OPS.quantize_per_token(x, scales, zeros, -128, 127, torch.int8)
    back = OPS.dequantize_per_token(rows, scales, zeros, -128, 127, torch.int8, torch.float32)
    torch.testing.assert_close(back, x, atol=0.04, rtol=0)
    groups = OPS.quantize_per_channel_group(x, torch.ones(2, 1), torch.zeros(2, 1), -8, 7, torch.int8, 2)
    assert groups.tolist() == [[1, -2], [4, 7]]


def test_scales_fit_tensors() -> None:
    x = torch.tensor([-1.0, 0.5, 1.55])
    scale, zero = OPS.choose_qparams.tensor(x, 0, 255, 1e-5, torch.uint8)
    assert scale.tolist() == pytest.approx([0.01]) and zero.tolist() == [100]
    scale, zero = OPS.choose_qparams_symmetric.tensor(x, -127, 127, 1e-5, torch.int8)
    assert scale.tolist() == pytest.approx([1.55 / 127]) and zero.tolist() == [0]


def test_gradients_and_graphs() -> None:
    x = torch.tensor([0.2, 9.0], requires_grad=True)
    scales, zeros = torch.tensor([0.5]), torch.tensor([0])
    OPS.fake_quant_per_channel(x[None], scales, zeros, 0, -8, 7).sum().backward()
    assert x.grad.tolist() == [1, 0]

    def both(x: torch.Tensor) -> torch.Tensor:
        q = OPS.quantize_per_tensor(x, 0.5, 0, -8, 7, torch.int8)
        return OPS.dequantize_per_tensor(q, 0.5, 0, -8, 7, torch.int8)

    graph = make_fx(both)(x.detach())
    assert [str(n.target) for n in graph.graph.nodes if n.op == "call_function"] == [
        "quantized_decomposed.quantize_per_tensor.default",
        "quantized_decomposed.dequantize_per_tensor.default",
    ]
    assert graph(x.detach()).tolist() == [0, 3.5]
