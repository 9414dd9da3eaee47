"""deepcopy of tensors of classes of a program's own: what they hold in slots, and those that wrap others."""

from copy import deepcopy

import pytest

import rushlight as torch


class Wraps(torch.Tensor):
    __slots__ = ["elem", "other"]

    @staticmethod
    def __new__(cls, elem):
        made = torch.Tensor._make_subclass(cls, elem.to("meta"), elem.requires_grad)
        made.elem = elem
        return made

    def clone(self):
        return type(self)(self.elem.clone())


class Holds(torch.Tensor):
    __slots__ = "more"

    def new_empty(self, *args, **kwargs):
        return super().new_empty(*args, **kwargs).as_subclass(Holds)


class Loses(Wraps):
    def clone(self):
        return self.elem.clone()


def test_what_wraps_another_is_copied_by_its_clone():
    given = Wraps(torch.ones(2))
    given.note = "n"
    copied = deepcopy(given)
    assert type(copied) is Wraps and copied.note == "n" and not hasattr(copied, "other")
    assert copied.elem is not given.elem and copied.elem.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="cloning returns another instance of the same subclass"):
        deepcopy(Loses(torch.ones(2)))


def test_slots_are_copied():
    given = torch.ones(2).as_subclass(Holds)
    given.more = [1]
    copied = deepcopy(given)
    assert type(copied) is Holds and copied.more == [1] and copied.more is not given.more


def test_a_class_that_does_not_come_back_is_refused():
    class Plain(torch.Tensor):
        pass

    with pytest.raises(RuntimeError, match="for non-wrapper subclasses only works"):
        deepcopy(torch.ones(2).as_subclass(Plain))
