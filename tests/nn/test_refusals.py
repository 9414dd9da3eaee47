"""Functions of torch.nn refuse what PyTorch refuses, in its words; and load what older versions wrote."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn

X = torch.ones(2, 3)
WRONG = {
    "rrelu, infinite": (
        lambda: F.rrelu(X, float("inf"), 0.3),
        RuntimeError,
        "lower bound must be finite, got inf",
    ),
    "rrelu, nan": (
        lambda: F.rrelu(X, 0.1, float("nan")),
        RuntimeError,
        "upper bound must be finite, got nan",
    ),
    "softshrink": (
        lambda: F.softshrink(X, -1.0),
        RuntimeError,
        r"in range \[0, 3.40282e\+38\].*Float, but found -1",
    ),
    "softshrink, half": (
        lambda: F.softshrink(X.half(), 65507.0),
        RuntimeError,
        r"in range \[0, 65504\] for input dtype Half, but found 65507",
    ),
    "nll_loss": (
        lambda: F.nll_loss(X, torch.zeros(2, dtype=torch.long), torch.ones(1, 3)),
        RuntimeError,
        "either for all 3 classes or no classes",
    ),
    "grid_sample": (
        lambda: F.grid_sample(torch.ones(1, 2, 2), torch.ones(1, 1, 1, 2), align_corners=False),
        RuntimeError,
        "expected grid to have size 1 in last dimension",
    ),
    "pixel_shuffle": (
        lambda: F.pixel_shuffle(torch.ones(1, 4, 2, 2), 545460846592),
        ValueError,
        "upscale factor is too large",
    ),
    "unfold": (lambda: F.unfold(torch.ones(3, 0, 3, 4), (2, 3)), RuntimeError, "Expected 3D or 4D"),
    "fold": (
        lambda: F.fold(torch.ones(3, 7), 16, 7318349394477056),
        RuntimeError,
        "the product of kernel_width and kernel_height overflowed",
    ),
    "interpolate": (
        lambda: F.interpolate(torch.ones(1, 1, 4), size=[8.0]),
        TypeError,
        "expected size to be one of int or",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_refusals(name):
    call, kind, words = WRONG[name]
    with pytest.raises(kind, match=words):
        call()


def test_affine_grids_of_one_pixel_are_warned_of():
    theta = torch.ones(1, 2, 3)
    with pytest.warns(UserWarning, match="See the documentation of affine_grid for details"):
        F.affine_grid(theta, (1, 1, 2, 1), align_corners=True)


def test_empty_batches_unfold():
    assert F.unfold(torch.ones(0, 3, 3, 4), (2, 3)).shape == (0, 18, 4)


def test_linear_layers_take_sparse_weights():
    weight, bias = torch.tensor([[1.0, 0, 2], [0, 3, 0]]), torch.tensor([1.0, 2])
    for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        sparse = weight.to_sparse(layout=layout).requires_grad_()
        found = F.linear(torch.ones(4, 2, 3), sparse, bias)
        assert torch.equal(found, F.linear(torch.ones(4, 2, 3), weight, bias))
        found.sum().backward()
        assert sparse.grad.layout is layout
    assert F.linear(torch.ones(3), weight.to_sparse_csr(), bias).tolist() == [4, 5]


def test_prefixes_are_taken_off_metadata_too():
    inner = {"": {"version": 2}, "a": {"version": 3}}
    state = OrderedDict({"module.a.weight": 1, "module.b": 2})
    state._metadata = OrderedDict({"": {"version": 1}})
    state._metadata.update({f"module.{k}".rstrip("."): v for k, v in inner.items()})
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["a.weight", "b"] and state._metadata == inner


def test_spectral_norms_of_older_versions_are_loaded():
    torch.manual_seed(0)
    layer = nn.utils.spectral_norm(nn.Linear(3, 5))
    x = torch.randn(2, 3)
    for _ in range(30):
        layer(x)
    state = OrderedDict(layer.state_dict())
    layer.eval()
    wanted = layer(x)
    state["weight"] = layer.weight.detach().clone()
    v = state.pop("weight_v")
    again = nn.utils.spectral_norm(nn.Linear(3, 5)).eval()
    again.load_state_dict(state)
    torch.testing.assert_close(again.weight_v, v, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(again(x), wanted, atol=1e-4, rtol=1e-4)
    del state["weight"]
    with pytest.raises(RuntimeError, match="Missing key"):
        again.load_state_dict(state)


def test_lanczos():
    x = torch.arange(24.0).reshape(1, 1, 4, 6)
    made = F.interpolate(x, size=(2, 3), mode="lanczos", antialias=True)
    wanted = torch.tensor([[3.7133, 5.7288, 7.7442], [15.2558, 17.2712, 19.2867]])
    torch.testing.assert_close(made[0, 0], wanted, rtol=1e-4, atol=1e-4)
    bytes_ = F.interpolate(x.byte(), size=(2, 3), mode="lanczos", antialias=True)
    assert bytes_[0, 0].tolist() == [[3, 6, 8], [15, 18, 20]]


@pytest.mark.parametrize(
    ("mode", "more", "error", "match"),
    [
        (None, {}, NotImplementedError, r"got 4D.*lanczos.*\(got None\)"),
        ("lanczos", {}, ValueError, "requires antialias=True"),
        ("lanczos", {"antialias": True, "align_corners": True}, ValueError, "align_corners=True"),
        ("trilinear", {}, NotImplementedError, "Got 4D input, but trilinear mode needs 5D input"),
    ],
)
def test_modes_of_interpolate(mode, more, error, match):
    with pytest.raises(error, match=match):
        F.interpolate(torch.ones(1, 1, 4, 6), size=(2, 3), mode=mode, **more)


def test_points_that_are_no_numbers_have_no_slope_where_the_nearest_is_read():
    grid = torch.tensor([[[[float("nan"), 0.0], [float("inf"), 0.5]]]], requires_grad=True)
    F.grid_sample(torch.ones(1, 1, 3, 3), grid, mode="nearest", align_corners=False).sum().backward()
    assert grid.grad.tolist() == [[[[0.0, 0.0], [0.0, 0.0]]]]


def test_scaled_dot_product_attention_refuses_as_its_op_does() -> None:
    q = torch.ones(1, 2, 3, 4)
    with pytest.raises(RuntimeError, match="but got 10$"):
        torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=10)
