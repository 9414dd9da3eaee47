"""torch.utils._pytree: paths, structures as text, types that programs add."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import rushlight as torch
from rushlight.utils import _pytree as pytree

TREE = {"a": [1, (2, None)], "b": OrderedDict(x=1), "c": defaultdict(list, z=deque([1, 2], maxlen=3))}


def test_structures_are_text_and_back():
    spec = pytree.tree_structure(TREE)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    assert (spec.num_nodes, spec.num_leaves, spec.num_children, spec.type) == (12, 6, 3, dict)
    assert (
        pytree.treespec_dumps(pytree.LeafSpec())
        == '[1, {"type": null, "context": null, "children_spec": []}]'
    )
    assert spec.child(0) == spec.children()[0] == pytree.tree_structure([1, (2, 3)]) and not spec.is_leaf()
    assert pytree.treespec_pprint(pytree.tree_structure([1, (2,)])) == "[*, (*,)]"
    with pytest.raises(ValueError, match="Unknown protocol 2"):
        pytree.treespec_loads("[2, {}]")
    with pytest.raises(TypeError, match="instance of PyTreeSpec but got item of type <class 'int'>"):
        pytree.treespec_dumps(3)
    Pair = namedtuple("Pair", "a b")
    with pytest.raises(NotImplementedError, match="_register_namedtuple"):
        pytree.treespec_dumps(pytree.tree_structure(Pair(1, 2)))


def test_paths():
    keyed, _ = pytree.tree_flatten_with_path({"a": [1, (2, None)], "b": 3})
    assert [pytree.keystr(path) for path, _ in keyed] == ["['a'][0]", "['a'][1][0]", "['a'][1][1]", "['b']"]
    assert pytree.key_get({"a": [1, 2]}, keyed[0][0]) == 1
    assert pytree.tree_map_with_path(lambda path, a, b: (pytree.keystr(path), a + b), [1, 2], [3, 4]) == [
        ("[0]", 4),
        ("[1]", 6),
    ]


def test_dataclasses_and_constants():
    @dataclasses.dataclass
    class Point:
        x: int
        y: int
        z: int = 3

    @dataclasses.dataclass(frozen=True)
    class Setting:
        name: str

    pytree.register_dataclass(Point, field_names=["x", "y"], drop_field_names=["z"])
    pytree.register_constant(Setting)
    try:
        leaves, spec = pytree.tree_flatten([Point(1, 2, 5), Setting("a")])
        assert leaves == [1, 2] and spec.unflatten([3, 4]) == [Point(3, 4), Setting("a")]
        assert [pytree.keystr(p) for p, _ in pytree.tree_leaves_with_path(Point(1, 2))] == [".x", ".y"]
        assert spec != pytree.tree_structure([Point(1, 2), Setting("b")])
    finally:
        pytree._deregister_pytree_node(Point)
        pytree._deregister_pytree_node(Setting)


def test_only_some_leaves():
    x = torch.ones(2)
    assert pytree.tree_map_only(torch.Tensor, torch.numel, [x, "a"]) == [2, "a"]
    assert pytree.tree_all_only(int, lambda n: n > 0, [1, "a"]) and pytree.tree_any(lambda n: n == 2, [1, 2])
    assert pytree._broadcast_to_and_flatten([1, 2], pytree.tree_structure([1, [2, 3]])) == [1, 2, 2]
    with pytest.raises(ValueError, match=r"missing key\(s\): {'a'}; extra key\(s\): {'b'}"):
        pytree.tree_map(lambda *v: 0, {"a": 1}, {"b": 1})


def test_a_size_is_put_together_as_a_tuple() -> None:
    assert pytree.tree_map(lambda _: None, torch.Size([1, 2])) == (None, None)
    assert type(pytree.tree_map(lambda n: n + 1, torch.Size([1, 2]))) is tuple
