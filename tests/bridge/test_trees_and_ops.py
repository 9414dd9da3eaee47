"""What packages built on PyTorch register: their types of containers, and their ops."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest

import rushlight as torch
from rushlight.utils import _pytree as pytree

Pair = namedtuple("Pair", "a b")


class Box:
    """A container that is registered."""

    def __init__(self, *items: Any) -> None:
        self.items = items


pytree.register_pytree_node(Box, lambda box: (list(box.items), "label"), lambda items, label: Box(*items))


def test_flatten_and_build() -> None:
    value = {
        "b": [1, (2, 3)],
        "a": OrderedDict(z=4, y=Pair(5, [6])),
        "d": defaultdict(int, {1: 7}),
        "q": deque([8, 9], maxlen=4),
        "n": None,
        "e": [],
    }
    leaves, spec = pytree.tree_flatten(value)
    assert leaves == [1, 2, 3, 4, 5, 6, 7, 8, 9, None] and spec.num_leaves == 10
    again = pytree.tree_unflatten(leaves, spec)
    assert again == value and again["q"].maxlen == 4 and again["d"].default_factory is int
    assert repr(pytree.tree_structure([1, (2,), {"k": 3}])) == (
        "TreeSpec(list, None, [*,\n  TreeSpec(tuple, None, [*]),\n  TreeSpec(dict, ['k'], [*])])"
    )
    with pytest.raises(ValueError, match="has length 9 but the spec refers to a pytree that holds 10 items"):
        spec.unflatten(leaves[:-1])


def test_registered_types_are_containers_everywhere() -> None:
    assert pytree.tree_leaves([Box(1, [2]), 3]) == [1, 2, 3]
    assert pytree.tree_leaves([Box(1), 3], is_leaf=lambda v: isinstance(v, Box))[1] == 3
    found = torch.vmap(lambda box: Box(box.items[0] * 2, box.items[1]))(
        Box(torch.arange(3), torch.ones(3, 2))
    )
    assert isinstance(found, Box) and torch.equal(found.items[0], torch.tensor([0, 2, 4]))
    with pytest.raises(ValueError, match="already registered as pytree node"):
        pytree.register_pytree_node(Box, None, None)


def test_maps() -> None:
    assert pytree.tree_map(lambda x, y: (x, y), [1, (2, 3)], [[4], (6, {})]) == [(1, [4]), ((2, 6), (3, {}))]
    assert pytree.tree_map(lambda x, y: x - y, {1: 2, 3: 4}, {3: 1, 1: 2}) == {1: 0, 3: 3}
    assert pytree.tree_map_only(int, lambda x: x + 1, [1, 2.0, "a"]) == [2, 2.0, "a"]
    for other in ([4, [5, 6]], [4, (5,)], 4):
        with pytest.raises(ValueError, match="Node (type|arity) mismatch"):
            pytree.tree_map(lambda x, y: x, [1, (2, 3)], other)


@torch.library.custom_op("bridge::scaled_sum", mutates_args=())
def scaled_sum(parts: list[torch.Tensor], scale: float = 2.0) -> torch.Tensor:
    """An op of a list."""
    return sum(parts) * scale


def test_custom_ops() -> None:
    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    found = torch.ops.bridge.scaled_sum([x, y], scale=3.0)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        found.sum().backward()
    torch.library.register_autograd(
        "bridge::scaled_sum",
        lambda ctx, grad: ([grad * ctx.scale] * ctx.many, None),
        setup_context=lambda ctx, inputs, output: (
            setattr(ctx, "scale", inputs[1]),
            setattr(ctx, "many", len(inputs[0])),
        ),
    )
    scaled_sum([x, y]).sum().backward()
    assert x.grad.tolist() == y.grad.tolist() == [2.0, 2.0]
    scaled_sum.register_fake(lambda parts, scale: torch.empty_like(parts[0]))
    assert scaled_sum([torch.empty(3, device="meta")]).is_meta
    with pytest.raises(RuntimeError, match="operator bridge::other does not exist"):
        torch.library.register_fake("bridge::other", len)
    with pytest.raises(ValueError, match="expected a name such as"):
        torch.library.custom_op("bridge", len, mutates_args=())
    with pytest.raises(AttributeError, match="'_OpNamespace' 'nowhere' object has no attribute 'op'"):
        torch.ops.nowhere.op


def test_an_op_is_copied_as_itself():
    for op in (torch.ops.aten.add, torch.ops.aten.add.Tensor):
        assert copy.deepcopy(op) is op
