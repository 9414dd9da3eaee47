"""What a recorded call stores for a while, or into what it has made, is no effect; what stays is."""

import inspect
from collections import OrderedDict
from dataclasses import dataclass

import pytest

import rushlight as torch


class Held:
    """Holds something while a call runs."""

    now, times = None, 0

    def set(self, value):
        self.now = value


class Registry(dict):
    """Finds things by another key."""

    def get(self, key):
        return super().get(str(key)) or 1.0


class Output(OrderedDict):
    """Has what it holds as attributes, too."""

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)


HELD, FOUND, REGISTRY = Held(), Output(), Registry({"3": 2.0})


def sets_an_attribute_for_a_while(x):
    HELD.set([x * 2])
    try:
        return HELD.now[0] + 1
    finally:
        HELD.set(None)


def makes_an_object_that_is_a_dict(x):
    out = Output()
    out["y"] = x * REGISTRY.get(x.shape[0])
    return out.y


@dataclass(frozen=True)
class Frozen:
    """Is written to where it is made."""

    scale: float


def makes_a_frozen_dataclass(x):
    return x * Frozen(float(x.shape[0])).scale


def looks_at_a_signature(x):
    return x * len(inspect.signature(looks_at_a_signature).parameters)


@pytest.mark.parametrize(
    "function",
    [
        sets_an_attribute_for_a_while,
        makes_an_object_that_is_a_dict,
        makes_a_frozen_dataclass,
        looks_at_a_signature,
    ],
)
def test_what_passes_is_replayed(function):
    HELD.now = None
    compiled, x = torch.compile(function), torch.randn(3)
    for _ in range(5):
        assert torch.equal(compiled(x), function(x)) and HELD.now is None
    (plan,) = compiled._runner.plans.values()
    assert plan.ready, plan.refusal


def counts(x, held=HELD):
    held.times += 1
    return x * held.times


def adds(x, held=HELD):
    held.__dict__.pop("other", None)
    held.other = x.shape[0]
    return x * 2


def leaves(x):
    HELD.set(x * 2)
    return x * 2


def registers(x):
    Output.__setitem__(FOUND, "x", 2.0)
    return x * FOUND.x


@pytest.mark.parametrize("function", [counts, adds, leaves, registers])
def test_what_stays_is_not(function):
    compiled = torch.compile(function)
    HELD.times = 0
    for n in range(1, 7):
        x = torch.full((2,), float(n))
        assert compiled(x).tolist() == [n * (n if function is counts else 2.0)] * 2
        assert function is not leaves or HELD.now.tolist() == [2.0 * n] * 2
    assert not next(iter(compiled._runner.plans.values())).ready


def test_what_a_kind_of_dict_holds_is_guarded():
    compiled, x = torch.compile(makes_an_object_that_is_a_dict), torch.ones(3)
    for scale in (2.0, 5.0, 2.0):
        REGISTRY["3"] = scale
        for _ in range(5):
            assert compiled(x).tolist() == [scale] * 3
    assert next(iter(compiled._runner.plans.values())).ready
    assert isinstance(compiled(torch.ones(4)), torch.Tensor)
