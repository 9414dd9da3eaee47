"""What matchers and programs ask of machine code, it answers as Python does."""

import gc
import sys
import weakref

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.autograd.node import AccumulateGrad, Node
from rushlight._engine.dispatch.nodes.saved_arguments import Versioned, kept
from rushlight._engine.tensors import slots
from rushlight._engine.tensors.storages.storage import storage
from rushlight._engine.trace import entrances
from rushlight._engine.trace.entrances import Entrance


@pytest.fixture(params=["machine code", "Python"])
def looks(request, monkeypatch):
    if request.param == "Python":
        monkeypatch.setattr(slots, "usable", lambda things: False)
    return entrances.looks.__wrapped__()


def came(t, seen=5):
    e = Entrance(7, t._kind, t._array.shape, t._array.strides, None)
    e.tensor, e.array, e.seen = weakref.ref(t), weakref.ref(t._array), seen
    e.key, e.known, e.root = id(t), (7, e.tensor), id(t._array)
    return e


def test_what_came_in_last(looks):
    t, other = torch.ones(3), torch.ones(3)
    e, array = came(t), t._array
    before = sys.getrefcount(array)
    assert looks.come(e, t, torch.Tensor, None, 5) is array
    assert looks.come(e, t, torch.Tensor, None, 6) is None
    assert looks.come(e, t, torch.Tensor, True, 5) is None
    assert looks.come(e, t, torch.nn.Parameter, None, 5) is None
    assert looks.come(e, other, torch.Tensor, None, 5) is None
    assert looks.come(e, 3, torch.Tensor, None, 5) is None
    storage(t)
    assert looks.come(e, t, torch.Tensor, None, 5) is array
    t._storage.exposed = True
    assert looks.come(e, t, torch.Tensor, None, 5) is None
    t._storage.exposed, t._storage.foreign = False, True
    assert looks.come(e, t, torch.Tensor, None, 5) is None
    t._storage.foreign = False
    assert sys.getrefcount(array) == before
    t._array = np.ones(3, np.float32)
    assert looks.come(e, t, torch.Tensor, None, 5) is None
    p = torch.ones(2, requires_grad=True)
    assert looks.come(came(p), p, torch.Tensor, True, -1) is p._array
    e = came(t)
    del t
    gc.collect()
    assert looks.come(e, other, torch.Tensor, None, 5) is None


def test_what_came_in_is_noted(looks):
    a, b = torch.ones(3), torch.ones(3)
    first, second = came(a), came(b)
    second.place, second.root = 8, first.root
    inputs = {7: (first.tensor, a._array), 8: (second.tensor, b._array)}
    arrays, places, roots = {}, {}, {}
    before = [sys.getrefcount(x) for x in (a._array, first.known, second.known)]
    looks.met([first, second], inputs, arrays, places, roots)
    assert arrays == {7: a._array, 8: b._array} and roots == {first.root: [7, 8]}
    assert places == {id(a): first.known, id(b): second.known}
    arrays.clear()
    places.clear()
    assert [sys.getrefcount(x) for x in (a._array, first.known, second.known)] == before


def test_nodes(looks):
    class Saved:
        pass

    following = None, (1, 2)
    node = Node(following, Saved())
    before = sys.getrefcount(following)
    assert looks.edges(node, node, Node, Saved) is following
    assert looks.edges(node, Node(), Node, Saved) is None
    assert looks.edges(None, None, Node, Saved) is None
    assert looks.edges(node, node, AccumulateGrad, Saved) is None
    assert looks.edges(node, node, Node, dict) is None
    node.hooks = object()
    assert looks.edges(node, node, Node, Saved) is None
    assert sys.getrefcount(following) == before
    later = Node()
    assert looks.falling(later, node) and not looks.falling(node, later) and looks.falling(node)
    assert not looks.falling(node, node)


def test_leaves(looks):
    p = torch.nn.Parameter(torch.ones(2))
    node, ref = p._grad_node, weakref.ref(p)
    before = sys.getrefcount(p)
    assert looks.leaf(node, ref, torch.nn.Parameter) is p
    assert looks.leaf(node, ref, torch.Tensor) is None
    assert looks.leaf(Node(), ref, torch.nn.Parameter) is None
    assert looks.leaf(node, weakref.ref(torch.ones(2)), torch.nn.Parameter) is None
    other = torch.ones(2)
    assert looks.leaf(node, weakref.ref(other), torch.nn.Parameter) is None
    p._grad = other
    assert looks.leaf(node, ref, torch.nn.Parameter) is None
    p._grad = None
    assert looks.leaf(node, ref, torch.nn.Parameter) is p
    node.hooks = object()
    assert looks.leaf(node, ref, torch.nn.Parameter) is None
    node.hooks = None
    assert sys.getrefcount(p) == before
    p._grad_node = None
    assert looks.leaf(node, ref, torch.nn.Parameter) is None
    del p
    assert ref() is None and looks.leaf(node, ref, torch.nn.Parameter) is None


def test_versions(looks):
    t = torch.ones(2)
    made = looks.now(t)
    assert type(made) is Versioned and made.tensor is t and made.version == 0 and looks.lasts(made)
    t.add_(1)
    assert not looks.lasts(made) and looks.lasts(looks.now(t)) and looks.lasts(kept(t))
    assert looks.now(t).version == t._storage.version == 1
    assert not looks.lasts(None) and not looks.lasts((t, 1))
    with torch.inference_mode():
        inferred = torch.ones(2)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        looks.now(inferred)


def test_where_inputs_lie_and_copies(looks):
    a, b = np.ones(3), np.arange(6.0).reshape(2, 3).T
    refs = [weakref.ref(a), weakref.ref(b)]
    assert looks.led(refs, [1, 2], {1: a, 2: b, 3: None}) and not looks.led(refs, [1, 2], {1: a, 2: a})
    assert not looks.led([entrances._nobody], [1], {1: a})
    found = looks.copies([a, b])
    assert [type(found), *[x.flags.c_contiguous for x in found]] == [list, True, True]
    assert all((x == y).all() and x is not y and x.base is None for x, y in zip(found, (a, b), strict=True))
    like = [a.copy(), b.copy()]
    assert [sys.getrefcount(x) for x in found] == [sys.getrefcount(x) for x in like]
