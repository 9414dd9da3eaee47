"""Objects with answers of their own (proxies, lazy containers, metaclasses) mean what they mean uncompiled."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn

GLOBAL = None


def raising(*args):
    raise RuntimeError("asked")


class Named(float):
    """A number that holds more."""


class Labelled(tuple):
    """A tuple that holds more."""


class Proxy:
    """Says that it is what it stands for, as proxies do; `given` may raise."""

    def __init__(self, given):
        self.given = given

    @property
    def __class__(self):
        return type(self.given())


class Lazy(dict):
    """A dict whose items are there when they are asked for."""

    __iter__ = __len__ = values = items = get = raising


class Listed(list):
    __iter__ = raising


class Answering(type):
    """A metaclass with answers of its own."""

    __getattr__ = __eq__ = raising
    __hash__ = type.__hash__


class Answers(metaclass=Answering):
    """Raises whatever it is asked."""

    __eq__ = __bool__ = __hash__ = __repr__ = raising
    scale = 2.0


class Elsewhere:
    scale = 2.0


Elsewhere.__module__ = property(raising)


class Registry(nn.Module):
    """A layer that calls something else its modules."""

    def __init__(self):
        super().__init__()
        self.modules = ["a"]
        self.scale = 2.0
        self.__dict__[""] = 3

    def forward(self, x):
        return x * self.scale


def with_scale(made):
    made.scale = 2.0
    return made


FOREIGN = {
    "number": (lambda: with_scale(Named(3)), lambda x, o: x * o * o.scale),
    "tuple": (lambda: with_scale(Labelled((3.0,))), lambda x, o: x * o[0] * o.scale),
    "partial": (lambda: with_scale(partial(min, 3.0)), lambda x, o: x * o(4.0) * o.scale),
    "proxy of a list": (lambda: with_scale(Proxy(list)), lambda x, o: x * o.scale),
    "proxy of a dict": (lambda: with_scale(Proxy(dict)), lambda x, o: x * o.scale),
    "proxy of nothing": (lambda: with_scale(Proxy(raising)), lambda x, o: x * o.scale),
    "dict": (lambda: with_scale(Lazy(a=3.0)), lambda x, o: x * o["a"] * o.scale),
    "list": (lambda: with_scale(Listed([3.0])), lambda x, o: x * o[0] * o.scale),
    "answers": (lambda: with_scale(Answers()), lambda x, o: x * o.scale),
    "module of a class": (lambda: with_scale(Elsewhere()), lambda x, o: x * o.scale),
    "layer": (Registry, lambda x, o: o.forward(x)),
}


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("name", FOREIGN)
def test_objects_with_answers_of_their_own_are_taken_for_what_they_are(name, given):
    make, use = FOREIGN[name]
    found = []
    for compile in (torch.compile, lambda function: function):
        o = make()
        function = compile(use if given else lambda x, o=o: use(x, o))
        args = (torch.ones(2), o) if given else (torch.ones(2),)
        outs = [function(*args).tolist() for _ in range(3)]
        o.scale = 4.0
        found.append(outs + [function(*args).tolist() for _ in range(3)])
    assert found[0] == found[1]


def test_a_name_may_lose_its_value_or_hold_what_has_no_repr():
    held = Answers()

    def free(value):
        def drop():
            nonlocal value
            del value

        return torch.compile(lambda x: x * value.scale), drop

    def of_global(x):
        return x * GLOBAL.scale

    function, drop = free(held)
    for _ in range(3):
        function(torch.ones(2))
    drop()
    with pytest.raises(NameError, match="value"):
        function(torch.ones(2))
    globals()["GLOBAL"] = held
    function = torch.compile(of_global)
    for _ in range(3):
        assert function(torch.ones(1)).item() == 2
    globals()["GLOBAL"] = with_scale(Elsewhere())
    GLOBAL.scale = 5.0
    assert function(torch.ones(1)).item() == 5


def test_equal_numbers_of_two_units_or_signs_are_two():
    days = torch.compile(lambda x, d: x * d.astype("datetime64[D]").astype(int))
    for unit, out in (("D", 30), ("D", 30), ("D", 30), ("M", 912), ("D", 30)):
        assert days(torch.ones(1), np.datetime64(30, unit)).item() == out
    held = [np.float64(0.0)]
    function = torch.compile(lambda x: x / (1 / x * held[0]))
    outs = [function(torch.ones(1)).item() for _ in range(3)]
    held[0] = np.float64(-0.0)
    assert [*outs, function(torch.ones(1)).item()] == [float("inf")] * 3 + [-float("inf")]


class Pair(NamedTuple):
    first: float
    second: int


_PAIR = Pair(2.0, 3)
_TWO, _HALF, _ROWS, _ADDED = np.float32(2), np.int64(3), np.zeros(2), np.frompyfunc(lambda a: a + 1, 1, 1)


def _writes(x):
    np.add(_ROWS, 1, out=_ROWS)
    return x * 2


def _hands_on(x):
    return (lambda module: x * float(module.sqrt(4.0)))(np)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: x * float(np.log(2.0)) * np.pi, ""),
        (lambda x: x * int(np.ceil(x.shape[0] / 2)), ""),
        (lambda x: x.reshape(int(np.prod(x.shape))) * float(_TWO), ""),
        (lambda x: x + int(_HALF), ""),
        (lambda x: Pair(x * _PAIR.first, _PAIR.second).first, ""),
        (_writes, "ndarray"),
        (lambda x: x * _ADDED(1), "ufunc"),
        (lambda x: x * float(np.random.rand()), "rand"),
        (_hands_on, "'np' is a module"),
    ],
)
def test_functions_and_numbers_of_numpy_and_named_tuples_do_not_change_unseen(function, why):
    compiled = torch.compile(function)
    for call in range(5):
        x = torch.randn(4)
        np.random.seed(call)
        found = compiled(x)
        np.random.seed(call)
        assert torch.equal(found, function(x))
    (plan,) = compiled._runner.plans.values()
    assert plan.ready is not bool(why) and why in plan.refusal
