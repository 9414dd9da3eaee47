"""x[...] beside PyTorch's: random indices on random layouts, strides and errors included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import rushlight

torch = pytest.importorskip("torch")


@st.composite
def _index(draw: Any, sizes: tuple[int, ...]) -> list[tuple[str, Any]]:
    """Items as (kind, value), from which either package builds its index; some are wrong."""
    items: list[tuple[str, Any]] = []
    common = draw(st.sampled_from([(2,), (1,), (2, 2), (2, 1), (0,)]))
    for size in sizes[: draw(st.integers(0, len(sizes)))]:
        kind = draw(st.sampled_from(["int", "slice", "full", "tensor", "list", "mask", "none", "flag"]))
        positions = st.integers(-size - draw(st.booleans()), size - 1 + draw(st.booleans()))
        if kind == "int":
            items.append((kind, draw(positions)))
        elif kind == "slice":
            ends = st.none() | st.integers(-size - 1, size + 1)
            items.append((kind, slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2])))))
        elif kind == "tensor":
            count = int(np.prod(common))
            values = draw(st.lists(positions, min_size=count, max_size=count))
            items.append((kind, np.array(values, np.int64).reshape(common)))
        elif kind == "list":
            items.append((kind, draw(st.lists(positions, min_size=1, max_size=2))))
        elif kind == "mask":
            items.append((kind, np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))))
        elif kind == "flag":
            items.append((kind, draw(st.booleans())))
        else:
            items.append((kind, None))
    return items


def _built(items: list[tuple[str, Any]], package: Any) -> tuple[Any, ...]:
    found: list[Any] = []
    for kind, value in items:
        if kind == "full":
            value = slice(None)
        elif kind in ("tensor", "mask"):
            value = package.from_numpy(value.copy())
        found.append(value)
    return tuple(found)


def _run(action: Any) -> Any:
    try:
        return action(), None
    except Exception as error:
        return None, error


@st.composite
def _cases(draw: Any) -> tuple[tuple[int, ...], Any, Any]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple))
    order = draw(st.permutations(range(len(sizes))))
    return sizes, order, draw(_index(tuple(sizes[i] for i in order)))


def _operand(package: Any, sizes: tuple[int, ...], order: Any) -> Any:
    return package.arange(float(np.prod(sizes))).reshape(sizes).permute(*order)


@settings(max_examples=600, deadline=None)
@given(_cases())
def test_reads(case: Any) -> None:
    sizes, order, items = case
    theirs, refused = _run(lambda: _operand(torch, sizes, order)[_built(items, torch)])
    ours, error = _run(lambda: _operand(rushlight, sizes, order)[_built(items, rushlight)])
    assert type(error) is type(refused), (error, refused)
    if refused is None:
        assert ours.tolist() == theirs.tolist()
        assert tuple(ours.shape) == tuple(theirs.shape)
        # With dims of size 1, whose strides are free, PyTorch's order of the result may differ.
        if ours.numel() and min(sizes) > 1 and not {"none", "flag"} & {kind for kind, _ in items}:
            assert [s for s, n in zip(ours.stride(), ours.shape, strict=True) if n > 1] == [
                s for s, n in zip(theirs.stride(), theirs.shape, strict=True) if n > 1
            ]
        if ours.numel():
            assert ours.storage_offset() == theirs.storage_offset()
    elif "out of bounds for dimension" not in str(refused):
        assert str(error).startswith(str(refused)), (error, refused)


@settings(max_examples=400, deadline=None)
@given(_cases(), st.sampled_from(["number", "whole", "row", "one"]))
def test_writes(case: Any, what: str) -> None:
    sizes, order, items = case
    left = []
    for package in (torch, rushlight):
        x = _operand(package, sizes, order)
        index = _built(items, package)
        shape = _run(lambda x=x, index=index: tuple(x[index].shape))[0] or ()
        value: Any = 7.0
        if what == "whole":
            value = package.arange(float(np.prod(shape))).reshape(shape)
        elif what == "row" and shape:
            value = package.arange(float(shape[-1]))
        elif what == "one":
            value = package.ones(1, 1)
        _, error = _run(lambda x=x, index=index, value=value: x.__setitem__(index, value))
        # What PyTorch wrote before it met a wrong position does not count.
        left.append((x.tolist() if error is None else None, type(error)))
    assert left[0] == left[1]


@settings(max_examples=200, deadline=None)
@given(_cases())
def test_gradients(case: Any) -> None:
    sizes, order, items = case
    grads = []
    for package in (torch, rushlight):
        x = _operand(package, sizes, order).clone().requires_grad_()
        y, error = _run(lambda x=x, package=package: x[_built(items, package)])
        if error is None:
            (y * package.arange(float(y.numel())).reshape(y.shape)).sum().backward()
            grads.append(x.grad.tolist())
    assert len(grads) in (0, 2) and (not grads or grads[0] == grads[1])
