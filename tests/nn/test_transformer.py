"""TransformerEncoder: when it says that it takes no nested tensors, in PyTorch's words; the fast path's switch."""

import warnings

import pytest

import rushlight
from rushlight.backends import mha

PREFIX = "enable_nested_tensor is True, but self.use_nested_tensor is False because encoder_layer"
CASES = {
    "fits": (lambda nn: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), None),
    "class": (lambda nn: nn.Linear(2, 2), " was not TransformerEncoderLayer"),
    "norm": (
        lambda nn: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True),
        ".norm_first was True",
    ),
    "batch": (
        lambda nn: nn.TransformerEncoderLayer(8, 2, 16),
        ".self_attn.batch_first was not True(use batch_first for better inference performance)",
    ),
    "bias": (
        lambda nn: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, bias=False),
        ".self_attn was passed bias=False",
    ),
    "activation": (
        lambda nn: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation=nn.SiLU()),
        ".activation_relu_or_gelu was not True",
    ),
    "heads": (
        lambda nn: nn.TransformerEncoderLayer(9, 3, 16, batch_first=True),
        ".self_attn.num_heads is odd",
    ),
}


def warned(nn, layer, **how):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        made = nn.TransformerEncoder(layer, 1, **how)
    return [(w.category, str(w.message), w.filename) for w in seen], made.use_nested_tensor


@pytest.mark.parametrize(("make", "words"), CASES.values(), ids=CASES)
def test_warnings(make, words):
    expected = [] if words is None else [(UserWarning, PREFIX + words, __file__)]
    assert warned(rushlight.nn, make(rushlight.nn)) == (expected, words is None)
    assert warned(rushlight.nn, make(rushlight.nn), enable_nested_tensor=False) == ([], False)
    torch = pytest.importorskip("torch")
    assert warned(torch.nn, make(torch.nn)) == (expected, words is None)


def test_switch():
    torch = rushlight
    model = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1
    ).eval()
    padding = torch.tensor([[False, True], [False, False]])
    with torch.no_grad():
        zeroed = model(torch.ones(2, 2, 8), src_key_padding_mask=padding)
        mha.set_fastpath_enabled(False)
        try:
            kept = model(torch.ones(2, 2, 8), src_key_padding_mask=padding)
        finally:
            mha.set_fastpath_enabled(True)
    assert zeroed[0, 1].eq(0).all() and kept[0, 1].ne(0).any() and mha.get_fastpath_enabled()
    torch.testing.assert_close(zeroed[1], kept[1])
