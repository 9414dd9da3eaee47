"""What machine code makes in place of classes is as they make it."""

import gc
import sys
import weakref

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.autograd.node import Node
from rushlight._engine.dispatch.nodes.saved_arguments import Saved, Versioned
from rushlight._engine.tensors import slots, tensor
from rushlight._engine.tensors.lazy_views import Pending
from rushlight._engine.tensors.storages.storage import Storage
from rushlight._engine.trace import shells


@pytest.fixture(params=["machine code", "Python"])
def makers(request, monkeypatch):
    if request.param == "Python":
        monkeypatch.setattr(slots, "usable", lambda things: False)
    return shells._made.__wrapped__()


def counts(*things):
    return [sys.getrefcount(t) for t in things]


def test_a_shell(makers):
    alive, kind, hidden = [], torch.ones(2)._kind, object()
    before = counts(hidden)
    made = makers.shell(alive, kind, hidden)
    assert type(made) is torch.Tensor and made._kind is kind and made._hidden is hidden
    assert (made._grad_node, made._output_nr, made._storage) == (None, 0, None) and made.__dict__ == {}
    assert makers.peek(made) is None and [r() is made for r in alive] == [True]
    assert gc.is_tracked(made) and weakref.getweakrefs(made) == alive
    del made
    assert alive[0]() is None and counts(hidden) == before


def test_what_is_left_in_the_graph(makers):
    t, of, saved = torch.ones(2), type("Made", (Node,), {"__slots__": ()}), object()
    before = counts(saved)
    first, second = (makers.record(t, of, (None, (1, 2)), saved) for _ in range(2))
    assert type(first) is of and first.next == (None, (1, 2)) and first.saved is saved
    assert first.hooks is None and second.seq == first.seq + 1 and t._grad_node is second
    del first, second
    t._grad_node = None
    assert counts(saved) == before
    kept = makers.keep(t, 3)
    assert type(kept) is Versioned and kept.tensor is t and kept.version == 3
    made = makers.save({"x": kept}, (1,), (2,), None)
    assert type(made) is Saved and (made._shapes, made._kinds) == ((1,), (2,))
    assert made._values == {"x": kept} and made._results is None and made._node is None


def test_a_second_tensor_shares_the_storage(makers):
    class Region:
        shares = set()

    alive, hidden = [], object()
    made = makers.shell(alive, torch.ones(2)._kind, hidden)
    other, version = makers.second(Region, alive, 5, made._kind, hidden, made)
    assert (
        other._storage is made._storage
        and type(made._storage) is Storage
        and version == 0
        and Region.shares == {5}
    )
    plain = Storage()
    for name in Storage.__slots__[:-1]:
        assert getattr(made._storage, name) is getattr(plain, name), name


def test_arrays_are_looked_at_without_asking(makers):
    t = torch.ones(2)
    assert makers.peek(t) is t._array


def test_those_that_live_get_their_values(makers):
    alive, kind, hidden = [], torch.ones(2)._kind, Pending(np.ones(2), None, 1 << 40)
    held = [makers.shell(alive, kind, hidden) for _ in range(3)]
    other = makers.shell(alive, kind, np.ones(2))  # which is not pending
    makers.shell(alive, kind, hidden)  # which nobody holds
    full = torch.ones(2)
    alive += [weakref.ref(full), alive[0]]
    place = hidden.place
    before, of_place = counts(*held), sys.getrefcount(place)
    found, places = [], []
    makers.living(alive, found, places)
    assert [*map(id, found)] == [*map(id, [*held, held[0]])] and alive[4]() is None
    assert places == [hidden.place] * 4
    places.clear()
    assert sys.getrefcount(place) == of_place
    del other
    array, others = np.zeros(2), [np.ones(2) for _ in held]
    references = counts(hidden, array)
    makers.fill(found, [*others, array])  # the first of what comes twice
    assert [makers.peek(t) is a for t, a in zip(held, others, strict=True)] == [True] * 3
    assert not any(hasattr(t, "_hidden") for t in held)
    assert counts(hidden, array) == [references[0] - 3, references[1]]
    del found
    assert counts(*held) == before


@pytest.mark.skipif(not slots.usable([]), reason="there is no machine code")
def test_properties_stand_for_the_array():
    class Own(tensor.Tensor):
        pass

    asked = []

    def answer(t, name):
        asked.append(name)
        raise AttributeError(name)

    array = slots.asking(tensor.Tensor, tensor.ARRAY, "_array", answer)
    for t in (torch.ones(2), torch.ones(2).as_subclass(Own)):
        a = tensor.ARRAY.__get__(t)
        before = counts(a)
        assert array.__get__(t) is a
        array.__set__(t, 5)
        assert tensor.ARRAY.__get__(t) == 5
        array.__set__(t, a)
        assert counts(a) == before
        array.__delete__(t)
        with pytest.raises(AttributeError):
            array.__get__(t)
        array.__set__(t, a)
    with pytest.raises(AttributeError):
        array.fget("no tensor")
    with pytest.raises(AttributeError):
        array.fset("no tensor", 1)
    assert asked == ["_array"] * 4
