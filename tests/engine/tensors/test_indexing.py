"""x[...]: recorded PyTorch behaviour case by case, and NumPy's where the two agree."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import rushlight
import rushlight as torch
from rushlight._engine.dispatch import interpreters
from rushlight._engine.numerics import advanced_indexing
from rushlight._engine.tensors.indexing import parse

_GOLDENS = Path(__file__).parents[2] / "goldens"
sys.path.insert(0, str(_GOLDENS))
from indexing_cases import READS, WRITES, read_namespace, read_outcome, split, write_namespace, write_outcome  # noqa: E402 - lives beside its recorded outcomes

_RECORDED = json.loads((_GOLDENS / "indexing.json").read_text())
Array = np.ndarray[Any, Any]


def _compare(found: dict[str, Any], expected: dict[str, Any]) -> None:
    if "error" in expected:
        assert found.get("error") == expected["error"], found
        # Rushlight may say more than PyTorch, after the same words.
        assert found["message"].startswith(expected["message"].split("\n")[0].rstrip(".")), found
        return
    assert "error" not in found, found
    assert found["warns"] == expected["warns"]
    assert found["values"] == expected["values"]
    assert found.get("shape") == expected.get("shape")
    assert found.get("view") == expected.get("view")
    for ours, theirs, size in zip(
        found.get("stride", []), expected.get("stride", []), found.get("shape", []), strict=True
    ):
        # A stride that no element is reached by is nobody's business.
        assert ours == theirs or size <= 1 or 0 in found["shape"], (found, expected)


@pytest.mark.parametrize("case", split(READS))
def test_reads_as_recorded(case: str) -> None:
    _compare(read_outcome(case, read_namespace(rushlight)), _RECORDED[case])


@pytest.mark.parametrize("case", split(WRITES))
def test_writes_as_recorded(case: str) -> None:
    _compare(write_outcome(case, write_namespace(rushlight)), _RECORDED[case])


# --- against NumPy --------------------------------------------------------------------------------

_SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)


@st.composite
def basic_cases(draw: Any) -> tuple[Array, Any]:
    """An array in any memory order, and an index of ints, slices, None and `...`."""
    shape = draw(_SHAPES)
    a = np.arange(np.prod(shape)).reshape(shape).transpose(draw(st.permutations(range(len(shape)))))
    items: list[Any] = []
    for size in a.shape[: draw(st.integers(0, a.ndim))]:
        ends = st.none() | st.integers(-size - 1, size + 1)
        items.append(
            draw(st.integers(-size, size - 1) | st.builds(slice, ends, ends, st.none() | st.integers(1, 3)))
        )
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), ...)
        tail = items[items.index(...) + 1 :]
        items = items[: items.index(...)] if any(t is not None for t in tail) else items
    return a, tuple(items)


@st.composite
def advanced_cases(draw: Any) -> tuple[Array, list[Any]]:
    """An array in any memory order, and for each leading dim None, an index array or a mask."""
    shape = draw(_SHAPES)
    a = np.arange(np.prod(shape)).reshape(shape).transpose(draw(st.permutations(range(len(shape)))))
    common = draw(hnp.array_shapes(min_dims=0, max_dims=2, max_side=3))
    indices: list[Any] = []
    for size in a.shape[: draw(st.integers(1, a.ndim))]:
        own = draw(st.sampled_from([common, common[1:], tuple(1 for _ in common)]))
        index = hnp.arrays(np.int64, own, elements=st.integers(-size, size - 1))
        indices.append(draw(st.none() | index))
    if all(i is None for i in indices):
        indices[-1] = draw(hnp.arrays(np.bool_, a.shape[len(indices) - 1]))
    return a, indices


def _numpy_key(indices: list[Any]) -> tuple[Any, ...]:
    return tuple(slice(None) if i is None else i for i in indices)


@settings(max_examples=300, deadline=None)
@given(basic_cases())
def test_basic_views_equal_numpy(case: tuple[Array, Any]) -> None:
    a, index = case
    plan = parse(index, a.shape)
    found, expected = (
        advanced_indexing.view(a, plan.basic, plan.ones),
        a[(*index, ...)] if (... not in index) else a[index],
    )
    assert not plan.advanced
    np.testing.assert_array_equal(found, expected)
    assert found.size == 0 or np.shares_memory(found, a)


@settings(max_examples=400, deadline=None)
@given(advanced_cases())
def test_reads_equal_numpy(case: tuple[Array, list[Any]]) -> None:
    a, indices = case
    found = advanced_indexing.read(a, indices)
    expected = a[_numpy_key(indices)]
    np.testing.assert_array_equal(found, expected)
    assert not np.may_share_memory(found, a)
    plan = advanced_indexing.understand(a.shape, indices)
    assert plan.result == expected.shape
    np.testing.assert_array_equal(a[advanced_indexing.coordinates(a.shape, indices)], expected)


@settings(max_examples=300, deadline=None)
@given(advanced_cases(), st.booleans())
def test_writes_equal_numpy(case: tuple[Array, list[Any]], accumulate: bool) -> None:
    a, indices = case
    ours, theirs = a.copy("K"), a.copy("K")
    key = _numpy_key(indices)
    values = np.arange(theirs[key].size).reshape(theirs[key].shape) + 100
    advanced_indexing.write(ours, indices, values, accumulate)
    if accumulate:
        np.add.at(theirs, key, values)
    else:
        theirs[key] = values
    np.testing.assert_array_equal(ours, theirs)


@settings(max_examples=200, deadline=None)
@given(advanced_cases())
def test_index_gradient_adds_where_it_read(case: tuple[Array, list[Any]]) -> None:
    a, indices = case
    # A 0-d index tensor is an int to PyTorch, and an index array to NumPy.
    indices = [None if i is None else np.atleast_1d(i) for i in indices]
    x = rushlight.from_numpy(a.astype(np.float64)).requires_grad_()
    found = x[tuple(slice(None) if i is None else rushlight.from_numpy(i) for i in indices)]
    weights = np.arange(found.numel(), dtype=np.float64).reshape(tuple(found.shape))
    found.backward(rushlight.from_numpy(weights))
    expected = np.zeros(a.shape)
    np.add.at(expected, _numpy_key(indices), weights)
    np.testing.assert_array_equal(x.grad.numpy(), expected)


# --- what only tensors have -----------------------------------------------------------------------


def test_writes_through_views_keep_gradients() -> None:
    w = rushlight.tensor([1.0, 2.0], requires_grad=True)
    x = rushlight.zeros(3, 2)
    x[1] = w * 2
    x[[0, 2]] = w
    x[:, 1] *= 3
    x.sum().backward()
    assert x.tolist() == [[1, 6], [2, 12], [1, 6]]
    assert w.grad.tolist() == [4, 12]


def test_writes_bump_the_version() -> None:
    x = rushlight.zeros(3)
    for statement in (
        lambda: x.__setitem__(0, 1),
        lambda: x.__setitem__([0, 1], 2),
        lambda: x.__setitem__(x > 1, 2),
        lambda: x[1:].__setitem__(0, 5),
    ):
        before = x._version
        statement()
        assert x._version == before + 1


def test_node_names() -> None:
    x = rushlight.ones(3, 3, requires_grad=True)
    names = [x[i].grad_fn.name() for i in (0, slice(1, 2), None, ..., [0, 1])]
    assert names == [f"{n}Backward0" for n in ("Select", "Slice", "Unsqueeze", "Alias", "Index")]


def test_second_gradient() -> None:
    x = rushlight.tensor([1.0, 2.0, 3.0], dtype=rushlight.float64, requires_grad=True)
    y = (x[[0, 0, 2]] ** 3 * x[1:2]).sum()
    (g,) = rushlight.autograd.grad(y, x, create_graph=True)
    (h,) = rushlight.autograd.grad(g.sum(), x)
    assert g.tolist() == [12.0, 29.0, 54.0]
    assert h.tolist() == [24.0 + 6.0, 6.0 + 27.0, 36.0 + 27.0]


@pytest.mark.parametrize("index", [0, (slice(None), 1), torch.tensor([1])])
@pytest.mark.parametrize("value", [None, "1", [1.0, 2.0], (1, 2), {}])
def test_interpreters_change_nothing_about_what_is_refused(index: Any, value: Any) -> None:
    class Below:
        def run(self, row: Any, call: Any, args: Any, kwargs: Any) -> Any:
            return interpreters.interpret(row, call, args, kwargs)

    x, modes = torch.zeros(2, 2), [Below(), Below()]
    for count in range(3):
        for mode in modes[:count]:
            interpreters.push(mode)
        try:
            with (
                torch.autocast("cpu"),
                pytest.raises(TypeError, match=f"can't assign a {type(value).__name__} to"),
            ):
                x[index] = value
        finally:
            for mode in modes[:count]:
                interpreters.pop(mode)
    assert not x.any()


@pytest.mark.parametrize(
    ("dtype", "value"), [("int8", 300), ("int64", float("nan")), ("uint8", 1e30), ("float32", 1j)]
)
def test_a_number_that_does_not_fit_is_refused(dtype: str, value: Any) -> None:
    x = torch.zeros(2, dtype=getattr(torch, dtype))
    for write in (lambda: x.fill_(value), lambda: x.__setitem__(0, value)):
        with pytest.raises(RuntimeError, match="cannot be converted to type .* without overflow"):
            write()
    x[0] = np.int64(3)
    assert x.tolist() == [3, 0]


@pytest.mark.parametrize(
    ("index", "shape", "stride", "offset", "node"),
    [
        ((..., None), (2, 3, 4, 1), (12, 4, 1, 1), 0, "UnsqueezeBackward0"),
        ((slice(None), 0, None), (2, 1, 4), (12, 4, 1), 0, "UnsqueezeBackward0"),
        (
            (slice(1, None), None, ..., slice(None, None, 2)),
            (1, 1, 3, 2),
            (12, 12, 4, 2),
            12,
            "SliceBackward0",
        ),
        ((slice(None, None, 2), slice(None, 9, 1)), (1, 3, 4), (24, 4, 1), 0, "SliceBackward0"),
        ((None, ..., -1, None), (1, 2, 3, 1), (24, 12, 4, 1), 3, "UnsqueezeBackward0"),
    ],
)
def test_new_dims_among_parts(
    index: Any, shape: tuple[int, ...], stride: tuple[int, ...], offset: int, node: str
) -> None:
    x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
    found = x[index]
    assert (tuple(found.shape), found.storage_offset(), found.grad_fn.name()) == (shape, offset, node)
    assert [s for s, n in zip(found.stride(), shape, strict=True) if n > 1] == [
        s for s, n in zip(stride, shape, strict=True) if n > 1
    ]
    assert torch.equal(x.detach()[index], found)
