"""Views, broadcasting, setting and gradients of whole tensors: laws that hold for all layouts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import rushlight as torch

LAW = settings(max_examples=80, deadline=None, derandomize=True)
Array = np.ndarray[Any, Any]
_SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)


@st.composite
def tensors(draw: Any, min_dims: int = 1) -> tuple[Any, Array]:
    """A tensor of different numbers in any order of dims, perhaps a part of a larger one; its array."""
    shape = draw(hnp.array_shapes(min_dims=min_dims, max_dims=4, min_side=1, max_side=4))
    order = draw(st.permutations(range(len(shape))))
    t = torch.arange(float(math.prod(shape))).reshape(shape).permute(*order)
    if draw(st.booleans()):
        dim = draw(st.integers(0, t.dim() - 1))
        start = draw(st.integers(0, t.size(dim) - 1))
        t = t.narrow(dim, start, t.size(dim) - start)
    return t, np.array(t.tolist()).reshape(tuple(t.shape))


def _check_view(base: Any, view: Any, expected: Array) -> None:
    """Same values, same storage, strides that say where each element lies; writes go through."""
    assert tuple(view.shape) == expected.shape
    np.testing.assert_array_equal(view.numpy(), expected)
    assert view.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
    flat = torch.as_strided(base, (base.untyped_storage().nbytes() // 4,), (1,), 0)
    for place in list(np.ndindex(*expected.shape))[:20]:
        offset = view.storage_offset() + sum(i * s for i, s in zip(place, view.stride(), strict=True))
        assert flat[offset].item() == expected[place]
    if view.numel():
        first = (0,) * view.dim()
        version = base._version
        view[first] = -5.0
        assert flat.eq(-5.0).any() and base._version == version + 1


@LAW
@given(tensors(), st.data())
def test_transpose_permute_movedim(case: tuple[Any, Array], data: Any) -> None:
    t, a = case
    i, j = (data.draw(st.integers(-t.dim(), t.dim() - 1)) for _ in "ij")
    order = data.draw(st.permutations(range(t.dim())))
    np.testing.assert_array_equal(t.movedim(i, j).numpy(), np.moveaxis(a, i, j))
    np.testing.assert_array_equal(t.permute(*order).numpy(), a.transpose(order))
    _check_view(t, t.transpose(i, j), a.swapaxes(i, j))


@LAW
@given(tensors(), st.data())
def test_narrow_select_unsqueeze(case: tuple[Any, Array], data: Any) -> None:
    t, a = case
    dim = data.draw(st.integers(-t.dim(), t.dim() - 1))
    n = t.size(dim)
    start = data.draw(st.integers(0, n))
    length = data.draw(st.integers(0, n - start))
    index = data.draw(st.integers(-n, n - 1))
    np.testing.assert_array_equal(t.unsqueeze(dim).numpy(), np.expand_dims(a, dim))
    np.testing.assert_array_equal(t.select(dim, index).numpy(), a.take(index, dim))
    _check_view(t, t.narrow(dim, start, length), a.take(range(start, start + length), dim))


@LAW
@given(tensors(), st.data())
def test_view_and_reshape(case: tuple[Any, Array], data: Any) -> None:
    t, a = case
    sizes = data.draw(st.permutations(t.shape))
    if data.draw(st.booleans()):
        sizes = [math.prod(sizes[:2]), *sizes[2:]]
    if data.draw(st.booleans()):
        sizes[data.draw(st.integers(0, len(sizes) - 1))] = -1
    expected = a.reshape(sizes)
    np.testing.assert_array_equal(t.reshape(sizes).numpy(), expected)
    try:
        shared: Array | None = a.view()
        shared = t.numpy().reshape(sizes, copy=False)
    except ValueError:
        shared = None
    if shared is None:
        with pytest.raises(RuntimeError, match=r"view size is not compatible.*Use .reshape"):
            t.view(*sizes)
    else:
        _check_view(t, t.view(*sizes), expected)


@LAW
@given(tensors(), st.data())
def test_expand(case: tuple[Any, Array], data: Any) -> None:
    t, a = case
    dim = data.draw(st.integers(0, t.dim() - 1))
    one = t.narrow(dim, 0, 1)
    sizes = [2, *t.shape[:dim], 3, *t.shape[dim + 1 :]]
    given_sizes = [2, *[-1] * dim, 3, *t.shape[dim + 1 :]]
    expected = np.broadcast_to(a.take([0], dim), sizes)
    found = one.expand(given_sizes)
    assert found.stride(0) == 0 and found.stride(dim + 1) == 0
    np.testing.assert_array_equal(found.numpy(), expected)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        found.add_(1)
    if t.size(dim) > 1:
        with pytest.raises(RuntimeError, match="must match the existing size"):
            t.expand([*t.shape[:dim], t.size(dim) + 1, *t.shape[dim + 1 :]])


@LAW
@given(tensors(), st.data())
def test_unfold_and_diagonal(case: tuple[Any, Array], data: Any) -> None:
    t, a = case
    dim = data.draw(st.integers(0, t.dim() - 1))
    size, step = data.draw(st.integers(1, t.size(dim))), data.draw(st.integers(1, 3))
    windows = np.lib.stride_tricks.sliding_window_view(a, size, dim)
    if t.dim() > 1:
        offset = data.draw(st.integers(-2, 2))
        np.testing.assert_array_equal(t.diagonal(offset, 0, -1).numpy(), a.diagonal(offset, 0, -1))
    _check_view(t, t.unfold(dim, size, step), windows.take(range(0, windows.shape[dim], step), dim))


@LAW
@given(tensors(), st.data())
def test_as_strided(case: tuple[Any, Array], data: Any) -> None:
    t, _ = case
    n = t.untyped_storage().nbytes() // 4
    sizes = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=3))
    strides = tuple(data.draw(st.integers(0, 3)) for _ in sizes)
    reach = sum((k - 1) * s for k, s in zip(sizes, strides, strict=True))
    offset = data.draw(st.integers(0, n))
    flat = np.array(torch.as_strided(t, (n,), (1,), 0).tolist())
    if offset + reach >= n:
        with pytest.raises(RuntimeError, match="out of bounds for storage of size"):
            t.as_strided(sizes, strides, offset)
        return
    places = offset + sum(
        (np.arange(k) * s).reshape(-1, *[1] * (len(sizes) - i - 1))
        for i, (k, s) in enumerate(zip(sizes, strides, strict=True))
    )
    _check_view(t, t.as_strided(sizes, strides, offset), flat[places])


@LAW
@given(tensors(min_dims=2), st.data())
def test_split_chunk_unbind(case: tuple[Any, Array], data: Any) -> None:
    t, a = case
    dim, n = data.draw(st.integers(0, t.dim() - 1)), data.draw(st.integers(1, 5))
    cut = np.split(a, range(n, a.shape[dim], n), dim)
    for parts, expected in (
        (t.split(n, dim), cut),
        (t.unbind(dim), np.moveaxis(a, dim, 0)),
        (t.tensor_split(n, dim), np.array_split(a, n, dim)),
    ):
        assert len(parts) == len(expected)
        for p, e in zip(parts, expected, strict=True):
            np.testing.assert_array_equal(p.numpy(), e)
    assert sum(c.size(dim) for c in t.chunk(n, dim)) == t.size(dim) and len(t.chunk(n, dim)) <= n
    _check_view(t, t.split(n, dim)[-1], cut[-1])


# --- broadcasting -----------------------------------------------------------------------------------

_PAIRS = hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3)


@LAW
@given(_PAIRS, st.sampled_from(["add", "mul", "sub", "maximum", "atan2", "where", "lt"]))
def test_broadcasting(shapes: Any, name: str) -> None:
    (a, b), size = (
        (np.arange(1.0, math.prod(s) + 1).reshape(s) for s in shapes.input_shapes),
        shapes.result_shape,
    )
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    if name == "where":
        found, expected = torch.where(x > 2, x, y), np.where(a > 2, a, b)
    else:
        found = getattr(torch, name)(x, y)
        expected = {
            "add": np.add,
            "mul": np.multiply,
            "sub": np.subtract,
            "maximum": np.maximum,
            "atan2": np.arctan2,
            "lt": np.less,
        }[name](a, b)
    assert tuple(found.shape) == size == tuple(torch.broadcast_shapes(a.shape, b.shape))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14)
    left, right = torch.broadcast_tensors(x, y)
    assert tuple(left.shape) == tuple(right.shape) == size


@LAW
@given(_PAIRS)
def test_gradients_are_summed_to_the_operands_shapes(shapes: Any) -> None:
    x, y = (torch.arange(1.0, math.prod(s) + 1).reshape(s).requires_grad_() for s in shapes.input_shapes)
    out = x * y
    out.backward(torch.ones_like(out))
    for mine, other in ((x, y), (y, x)):
        assert mine.grad.shape == mine.shape
        full = np.broadcast_to(other.detach().numpy(), shapes.result_shape)
        lead = full.ndim - mine.dim()
        axes = (*range(lead), *(lead + i for i, n in enumerate(mine.shape) if n == 1))
        expected = full.sum(axes, keepdims=True).reshape(mine.shape)
        np.testing.assert_array_equal(mine.grad.numpy(), expected)


@LAW
@given(_SHAPES, _SHAPES)
def test_mismatched_shapes_are_refused(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    a, b = torch.zeros(first), torch.zeros(second)
    try:
        np.broadcast_shapes(first, second)
    except ValueError:
        for op in (torch.add, torch.mul, torch.eq, torch.maximum):
            with pytest.raises(
                RuntimeError,
                match=r"The size of tensor a \(\d\) must match the size of "
                r"tensor b \(\d\) at non-singleton dimension \d",
            ):
                op(a, b)
    if np.broadcast_shapes(first) != first or len(first) < len(second):
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape|must match the size"):
            a.add_(b)


# --- setting ----------------------------------------------------------------------------------------


@LAW
@given(tensors(), st.data())
def test_setting_by_index(case: tuple[Any, Array], data: Any) -> None:
    t, a = case
    index = data.draw(
        hnp.basic_indices(a.shape, allow_newaxis=False, allow_ellipsis=True).filter(
            lambda i: all(
                not isinstance(p, slice) or (p.step or 1) > 0 for p in (i if isinstance(i, tuple) else (i,))
            )
        )
    )
    shape = a[index].shape
    value = np.arange(100.0, 100 + math.prod(shape[-1:])).reshape(shape[-1:])
    t[index] = torch.from_numpy(value).float()
    a[index] = value
    np.testing.assert_array_equal(t.numpy(), a)


@LAW
@given(tensors(), st.data())
def test_setting_by_mask_and_positions(case: tuple[Any, Array], data: Any) -> None:
    t, a = case
    mask = data.draw(hnp.arrays(np.bool_, a.shape[: data.draw(st.integers(1, a.ndim))]))
    t[torch.from_numpy(mask)] = 50.0
    a[mask] = 50.0
    np.testing.assert_array_equal(t.numpy(), a)
    rows = data.draw(
        hnp.arrays(np.int64, st.integers(1, 4), elements=st.integers(-a.shape[0], a.shape[0] - 1))
    )
    t[torch.from_numpy(rows)] = 7.0
    a[rows] = 7.0
    np.testing.assert_array_equal(t.numpy(), a)
    t.index_put_((torch.from_numpy(rows),), torch.tensor(1.0), accumulate=True)
    np.add.at(a, rows, 1.0)
    np.testing.assert_array_equal(t.numpy(), a)


@LAW
@given(tensors(), st.data())
def test_gradients_through_views_and_writes(case: tuple[Any, Array], data: Any) -> None:
    """y = x.clone(), a view of y overwritten by 2 w: the rest of x and all of w get gradients."""
    t, _ = case
    x = t.clone().requires_grad_()
    dim = data.draw(st.integers(0, t.dim() - 1))
    index = data.draw(st.integers(0, t.size(dim) - 1))
    w = torch.ones(x.select(dim, index).shape, requires_grad=True)
    y = x.clone()
    y.select(dim, index).copy_(w * 2)
    weights = torch.arange(1.0, y.numel() + 1).reshape(y.shape)
    (y * weights).sum().backward()
    expected = weights.clone()
    expected.select(dim, index).zero_()
    assert torch.equal(x.grad, expected)
    assert torch.equal(w.grad, 2 * weights.select(dim, index))


# --- printing ---------------------------------------------------------------------------------------


@LAW
@given(hnp.arrays(st.sampled_from([np.float64, np.int64, np.bool_]), _SHAPES, elements=None))
def test_what_is_printed_can_be_read_again(a: Array) -> None:
    """repr evaluates to the tensor, up to the digits shown."""
    if a.dtype.kind == "f":
        a = np.round(np.nan_to_num(np.clip(a, -9, 9)), 4)
    t = torch.from_numpy(a)
    names = {"tensor": torch.tensor, "torch": torch, "nan": math.nan, "inf": math.inf}
    back = eval(repr(t), names)
    assert back.dtype is t.dtype and back.shape == t.shape
    np.testing.assert_allclose(back.numpy(), a, atol=1e-4)
