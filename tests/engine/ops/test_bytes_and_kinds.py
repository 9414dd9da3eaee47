"""Dtypes that ops of floating-point numbers meet at times: bytes, integers, complex numbers."""

from __future__ import annotations

import pytest

import rushlight as torch

F = torch.nn.functional
# What PyTorch makes of PICTURE: fixed-point weights, columns first, each dim rounded.
PICTURE = torch.tensor([[(30 * ((4 * i + j) % 7)) for j in range(4)] for i in range(4)], dtype=torch.uint8)[
    None, None
]
RESIZED = {
    ("bilinear", False): [25, 65, 76, 80, 120, 73, 135, 88, 40],
    ("bilinear", True): [0, 45, 90, 75, 120, 60, 150, 90, 30],
    ("bicubic", False): [23, 67, 76, 79, 142, 74, 138, 86, 38],
    ("bicubic", True): [0, 45, 90, 75, 142, 60, 150, 90, 30],
}


@pytest.mark.parametrize(("mode", "align"), RESIZED)
def test_pictures_of_bytes_are_resized_as_pytorch_does(mode, align):
    for x in (
        PICTURE,
        PICTURE.expand(2, 3, 4, 4),
        PICTURE.expand(1, 3, 4, 4).contiguous(memory_format=torch.channels_last),
    ):
        found = F.interpolate(x, size=(3, 3), mode=mode, align_corners=align)
        assert found.dtype is torch.uint8 and found[0, 0].flatten().tolist() == RESIZED[mode, align]
    smooth = F.interpolate(PICTURE, size=(3, 2), mode="bilinear", antialias=True)
    assert smooth.flatten().tolist() == [57, 78, 96, 99, 114, 57]


def test_what_has_no_weights_is_refused():
    for mode, x in (("bilinear", PICTURE.int()), ("linear", PICTURE[0]), ("area", PICTURE.long())):
        with pytest.raises(NotImplementedError, match="not implemented for"):
            F.interpolate(x, size=3 if mode == "linear" else (3, 3), mode=mode)
    with pytest.raises(NotImplementedError, match="adaptive_avg_pool2d"):
        F.adaptive_avg_pool2d(PICTURE.int(), 3)
    with pytest.raises(RuntimeError, match="sizes should be greater than 0"):
        F.interpolate(PICTURE.float(), size=(0, 3), mode="bilinear")
    assert F.avg_pool2d(PICTURE.long(), 2).flatten().tolist() == [75, 82, 105, 60]


def test_distances_of_complex_numbers_are_real():
    x = torch.tensor([1 + 1j, 2 - 1j], requires_grad=True)
    loss = F.l1_loss(x, torch.tensor([0.5 + 0j, 1j]), reduction="sum")
    loss.backward()
    assert loss.dtype is torch.float32 and abs(loss.item() - 3.9465) < 1e-4
    assert torch.allclose(x.grad, torch.tensor([0.4472 + 0.8944j, 0.7071 - 0.7071j]), atol=1e-4)


def test_integers_beside_floating_point_numbers():
    a, b = torch.tensor([[1.5, 2, -3]]), torch.tensor([[1, 2, 3]])
    assert torch.equal(F.cosine_similarity(a, b), F.cosine_similarity(a, b.float()))
    with pytest.raises(RuntimeError, match="common dtype to be floating point"):
        F.cosine_similarity(b, b)
    ones = torch.ones(3, 2, 2, dtype=torch.int32)
    assert torch.addbmm(ones[0], ones, ones).tolist() == [[7, 7], [7, 7]]
    assert (
        torch.masked.cumsum(b.int(), 1).dtype is torch.int32
        and torch.masked.var(b * 1j, 1).dtype is torch.complex64
    )


def test_a_bias_of_one_number_serves_all():
    for shape in ((1,), (), (1, 4), (4,)):
        bias = torch.ones(shape, requires_grad=True)
        F.linear(torch.ones(8, 3), torch.ones(4, 3), bias).sum().backward()
        assert bias.grad.shape == shape and bias.grad.sum() == 32
    with pytest.raises(RuntimeError, match="elements of target"):
        F.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([float("nan")]))


def test_label_sequences_fit_their_lengths():
    logs, targets = torch.zeros(5, 2, 3).log_softmax(2), torch.ones(2, 2, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="batch_size"):
        F.ctc_loss(logs, targets, (5,), (2, 2))
    with pytest.raises(RuntimeError, match="size at least 3 at dimension 1"):
        F.ctc_loss(logs, targets, (5, 5), (2, 3))
