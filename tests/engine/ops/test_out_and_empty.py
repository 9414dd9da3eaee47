"""What ops do with out= tensors, on the meta device in place, and with samples that have no elements."""

from __future__ import annotations

import warnings

import pytest

import rushlight as torch

F = torch.nn.functional


@pytest.mark.parametrize(
    "call",
    [
        lambda out: torch.abs(torch.ones(3), out=out),
        lambda out: torch.mm(torch.ones(3, 3), torch.ones(3, 3), out=out),
        lambda out: (
            torch.cat([torch.ones(3)], out=out)
            if out.dtype is torch.int64
            else torch.trunc(torch.ones(3), out=out)
        ),
        lambda out: torch.amax(torch.ones(3), 0, out=out),
        lambda out: torch.softmax(torch.ones(3), 0, out=out),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64])
def test_out_has_the_dtype_of_the_result(call, dtype):
    with pytest.raises((RuntimeError, TypeError)):
        call(torch.ones(3, dtype=dtype))


def test_out_may_be_wider_where_the_iterator_casts():
    for call in (
        torch.exp,
        torch.sin,
        lambda x, out: torch.add(x, 1, out=out),
        lambda x, out: torch.sum(x, 0, out=out),
        lambda x, out: torch.cat([x], out=out),
    ):
        out = torch.zeros(0, dtype=torch.float64)
        assert call(torch.ones(3), out=out) is out and out.dtype is torch.float64 and out.numel()


def test_out_that_is_resized_takes_the_strides_of_the_result():
    a = torch.eye(3) + torch.ones(3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.linalg.inv(a, out=torch.empty(0)).stride() == (1, 3)
        assert torch.exp(a.t(), out=torch.empty(0)).stride() == (1, 3)
    with pytest.warns(UserWarning, match="was resized"):
        out = torch.linalg.inv(a, out=torch.ones(2))
    torch.testing.assert_close(out @ a, torch.eye(3))


def test_formulas_in_place_on_meta():
    x = torch.empty(3, 4, device="meta")
    for call in (x.add_, x.mul_, x.pow_, x.clamp_min_):
        assert call(2) is x
    assert x.lerp_(x, 0.5).device.type == "meta"
    assert x.exp_().neg_().stride() == (4, 1)
    with pytest.raises(RuntimeError, match="broadcast shape"):
        x.add_(torch.empty(2, 3, 4, device="meta"))


def test_storages_on_meta_have_their_true_size():
    x = torch.empty(3, 4, device="meta")
    sizes = [t.untyped_storage().nbytes() for t in (x, x[1:], x.t(), x + 1, torch.empty(0, device="meta"))]
    assert sizes == [48, 48, 48, 48, 0]
    assert torch.empty_strided((2, 2), (5, 1), device="meta").untyped_storage().nbytes() == 28
    assert torch.as_strided_scatter(x, x[0], (4,), (3,)).shape == (3, 4)


def test_expanded_memory_is_filled_and_not_assigned():
    assert torch.zeros(1, 3).expand(2, 3).fill_(2).tolist() == [[2] * 3] * 2
    assert torch.ones(3, 1).expand(3, 2).zero_().sum() == 0
    with pytest.raises(RuntimeError, match="more than one element"):
        torch.zeros(1, 3).expand(2, 3)[:] = 1


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (
            lambda: F.grid_sample(torch.zeros(2, 0, 4, 4), torch.zeros(2, 3, 3, 2), align_corners=False),
            (2, 0, 3, 3),
        ),
        (
            lambda: F.grid_sample(torch.zeros(0, 2, 4, 4), torch.zeros(0, 3, 3, 2), align_corners=False),
            (0, 2, 3, 3),
        ),
        (lambda: torch.nn.MultiheadAttention(4, 2)(*[torch.zeros(0, 1, 4)] * 3)[0], (0, 1, 4)),
        (lambda: torch.nn.MultiheadAttention(4, 2)(*[torch.zeros(3, 0, 4)] * 3)[0], (3, 0, 4)),
        (
            lambda: torch.nn.MultiheadAttention(4, 2)(*[torch.zeros(3, 0, 4)] * 3, need_weights=False)[0],
            (3, 0, 4),
        ),
        (lambda: F.conv_transpose1d(torch.zeros(0, 3, 4), torch.zeros(3, 4, 3)), (0, 4, 6)),
        (lambda: F.conv_transpose2d(torch.zeros(0, 3, 4, 4), torch.zeros(3, 4, 3, 3)), (0, 4, 6, 6)),
        (lambda: F.conv3d(torch.zeros(0, 3, 4, 4, 4), torch.zeros(2, 3, 1, 1, 1)), (0, 2, 4, 4, 4)),
        (lambda: F.adaptive_max_pool2d(torch.zeros(0, 3, 5, 4), 2), (0, 3, 2, 2)),
        (lambda: F.max_unpool2d(torch.zeros(0, 2, 2, 2), torch.zeros(0, 2, 2, 2).long(), 2), (0, 2, 4, 4)),
        (lambda: F.fractional_max_pool2d(torch.zeros(0, 2, 6, 6), 2, 3), (0, 2, 3, 3)),
        (
            lambda: F.scaled_dot_product_attention(*[torch.zeros(2, 4, 0)] * 2, torch.zeros(2, 4, 3)),
            (2, 4, 3),
        ),
        (lambda: F.cross_entropy(torch.zeros(2, 0), torch.zeros(2, 0)), ()),
        (lambda: torch.fft.rfft(torch.zeros(0, 8)), (0, 5)),
    ],
)
def test_samples_without_elements(call, shape):
    assert call().shape == shape


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.adaptive_avg_pool2d(torch.zeros(2, 3, 0, 4), 2),
        lambda: F.adaptive_max_pool1d(torch.zeros(2, 0, 4), 2),
        lambda: F.adaptive_avg_pool3d(torch.zeros(2, 0, 4, 4, 4), 2),
        lambda: F.interpolate(torch.zeros(2, 0, 4), scale_factor=2),
        lambda: F.unfold(torch.ones(1, 1, 3, 3), 2, stride=0),
        lambda: torch.ones(3).unfold(0, -1, 1),
    ],
)
def test_what_may_not_be_empty(call):
    with pytest.raises(RuntimeError):
        call()


def test_gradients_of_samples_without_elements():
    x = torch.zeros(0, 3, 5, 4, requires_grad=True)
    w = torch.zeros(3, 2, 3, 3, requires_grad=True)
    (F.adaptive_max_pool2d(x, 2).sum() + F.conv_transpose2d(x, w).sum()).backward()
    assert x.grad.shape == x.shape and w.grad.abs().sum() == 0


def test_out_on_the_meta_device_is_memory_of_its_own():
    x, out = torch.empty(5, 5, device="meta"), torch.empty(5, 10, device="meta")
    assert torch.cat([x, x], dim=-1, out=out) is out and out.shape == (5, 10)
    places = torch.empty(2, dtype=torch.int64, device="meta")
    assert torch.index_select(x, 0, places, out=torch.empty(2, 5, device="meta")).shape == (2, 5)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        torch.gather(x, 0, torch.empty(5, 5, dtype=torch.int64, device="meta"), out=x)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_parts_of_one_memory_are_apart(device: str) -> None:
    x, index = torch.zeros(4, device=device), torch.zeros(2, dtype=torch.long, device=device)
    assert torch.gather(x[:2], 0, index, out=x[2:]).shape == (2,)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        torch.gather(x[:2], 0, index, out=x[1:3])


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "cumsum", "cumprod"])
def test_out_of_another_dtype_than_asked_for(name):
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype double, but got float instead"):
        getattr(torch, name)(torch.ones(3, 3), 0, dtype=torch.float64, out=torch.empty(0))


def test_unpooling_refuses_in_pytorchs_words():
    x, places = torch.ones(1, 1, 2, 2), torch.tensor([[[[0, 3], [9, 30]]]])
    unpool = torch.nn.functional.max_unpool2d
    for given, words in [
        ((x, places, 2), r"Found an invalid max index: 30 \(output volumes are of size 4x4\)"),
        ((x, places.int(), 2), "elements in indices should be type int64 but got: Int"),
        ((x[0, 0], places[0, 0], 2), "should be a 3d or 4d Tensor, but got a tensor with 2 dimensions"),
        ((x[:, :0], places[:, :0], 2), "with dimension 1 being empty"),
    ]:
        with pytest.raises(RuntimeError, match=words):
            unpool(*given)
    with pytest.raises(ValueError, match=r'invalid output_size "\(4, 9\)" \(dim 1 must be between 2 and 6\)'):
        unpool(x, places, 2, output_size=(4, 9))
    assert unpool(x, places % 16, 2, output_size=(1, 1, 5, 5)).shape == (1, 1, 5, 5)


def test_unravelling_asks_for_whole_numbers():
    at = torch.tensor([1])
    with pytest.raises(
        TypeError, match="expected 'shape' sequence to only contain ints, but got <class 'float'>"
    ):
        torch.unravel_index(at, (2, 2.0))
    with pytest.raises(TypeError, match="expected 'shape' to be int or sequence of ints"):
        torch.unravel_index(at, torch.tensor([2, 2]))
    assert [t.tolist() for t in torch._VF.unique_dim(torch.tensor([[1, 2], [1, 2]]), 0)] == [
        [[1, 2]],
        [0, 0],
        [2],
    ]


def test_a_stride_too_large_to_resize_to():
    with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
        torch.empty((), dtype=torch.float64).resize_([0, 4, 2**61])
