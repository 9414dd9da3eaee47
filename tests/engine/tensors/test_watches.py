"""Watches: a change of what is watched is seen, whatever it is; what is only read is none."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.tensors.storages.storage import Storage
from rushlight._engine.tensors.watches import Numbers, Watch, bump


class _Above:
    pass


class _Thing(_Above):
    x = 1


def _watched() -> tuple[Watch, dict[str, Any]]:
    thing, t = _Thing(), torch.zeros(3)
    thing.x = 1
    items = [t, thing]
    watch = Watch()
    watch.of_class(thing)
    watch.dict(thing.__dict__)
    watch.attributes(_Thing)
    watch.list(items)
    watch.slot(t, torch.Tensor, "_array", t._array)
    watch.filled(t, torch.Tensor, "_grad_node")
    watch.filled(t, torch.Tensor, "_grad")
    watch.own(t)
    if not watch.usable:
        pytest.skip("this Python does not number changes, or there is no machine code")
    assert not watch.same()
    watch.keep(watch.look())
    assert watch.same()
    return watch, {"thing": thing, "t": t, "items": items}


_CHANGES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "an attribute": lambda thing, t, items: setattr(thing, "x", 2),
    "another attribute": lambda thing, t, items: setattr(thing, "y", 2),
    "an attribute less": lambda thing, t, items: delattr(thing, "x"),
    "a class's attribute": lambda thing, t, items: setattr(_Thing, "x", 3),
    "a base's attribute": lambda thing, t, items: setattr(_Above, "z", 3),
    "another class": lambda thing, t, items: setattr(thing, "__class__", _Above),
    "an item": lambda thing, t, items: items.__setitem__(0, thing),
    "an item more": lambda thing, t, items: items.append(1),
    "no items": lambda thing, t, items: items.clear(),
    "another order": lambda thing, t, items: items.reverse(),
    "requires_grad": lambda thing, t, items: t.requires_grad_(),
    "a gradient": lambda thing, t, items: setattr(t, "_grad", t),
    "memory": lambda thing, t, items: setattr(t, "data", torch.ones(3)),
    "a tensor's attribute": lambda thing, t, items: setattr(t, "mark", 1),
    "a tensor's attributes": lambda thing, t, items: setattr(t, "__dict__", {"mark": 1}),
}


@pytest.mark.parametrize("what", _CHANGES)
def test_a_change_is_seen(what: str) -> None:
    watch, objects = _watched()
    _CHANGES[what](*objects.values())
    assert not watch.same()


def test_what_is_read_or_used_is_no_change() -> None:
    watch, objects = _watched()
    thing, t, items = objects.values()
    assert thing.x == 1 and len(items) == 2 and not t.requires_grad
    t.add_(1)
    (t * 2).sum()
    assert [*vars(thing)] == ["x"] and _Thing.x and items.index(thing) == 1
    assert watch.same()


def test_a_class_is_seen_after_every_change() -> None:
    watch, _ = _watched()
    for number in range(5):
        _Thing.x = number
        assert not watch.same()
        watch.keep(watch.look())
        watch.keep(watch.look())  # a class that nobody has asked since has no number yet
        _Thing().x
    _Above.late = 1  # type: ignore[attr-defined]
    assert not watch.same()


def test_what_is_held_by_its_address_is_never_taken_as_it_is() -> None:
    for change in ("an item more", "no items", "an item", "memory", "another class"):
        watch, objects = _watched()
        _CHANGES[change](*objects.values())
        watch.keep(watch.look())
        assert not watch.same(), change


def test_what_changes_between_look_and_keep_is_seen() -> None:
    watch, objects = _watched()
    objects["thing"].x = 5
    words = watch.look()
    assert not watch.same()
    objects["thing"].x = 6
    watch.keep(words)
    assert not watch.same()


def test_an_ordered_dict_can_be_watched_while_there_is_one_order() -> None:
    items, watch = OrderedDict(a=1), Watch()
    watch.dict(items)
    usable = watch.usable
    watch.keep(watch.look())
    items["b"] = 2
    assert not watch.same()
    watch = Watch()
    watch.dict(items)
    watch.keep(watch.look())
    assert not watch.usable and not watch.same() and usable == _watched()[0].usable


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_are_looked_at_and_set_together(dtype: Any) -> None:
    arrays = [np.full((), 3, dtype) for _ in range(5)]
    numbers = Numbers(arrays)
    if not numbers.usable:
        pytest.skip("there is no machine code")
    assert numbers.equal()
    arrays[3][()] = 4
    assert not numbers.equal()
    numbers.put(7.5)
    assert numbers.equal() and {float(a) for a in arrays} == {7.5}


def test_numbers_of_several_dtypes_are_not() -> None:
    assert not Numbers([np.zeros((), np.float32), np.zeros((), np.float64)]).usable
    assert not Numbers([np.zeros((), np.float16)] * 2).usable


def test_writes_are_counted() -> None:
    storages = [Storage(), Storage(1 << 70), Storage(4)]
    for quick in (False, True):
        bump([*storages, storages[2]], quick)
    assert [s.version for s in storages] == [2, (1 << 70) + 2, 8]
