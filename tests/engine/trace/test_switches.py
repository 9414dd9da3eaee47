"""compile() and what ops ask beside their arguments: default dtype, default device, determinism; warnings."""

import warnings

import pytest

import rushlight as torch
from rushlight._engine.trace import choice, matching
from rushlight.nn import functional as F

SET = {
    "dtype": (lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32)),
    "device": (lambda: torch.set_default_device("meta"), lambda: torch.set_default_device("cpu")),
    "determinism": (
        lambda: torch.use_deterministic_algorithms(True),
        lambda: torch.use_deterministic_algorithms(False),
    ),
}
FUNCTIONS = {
    "divide": lambda x: x / 2 + 1,
    "root": torch.sqrt,
    "fill": lambda x: torch.full((3,), 2.0) + torch.ones(3),
    "empty": lambda x: torch.empty(3) * 1,
    "put": lambda x: torch.zeros(4).put_(x, torch.ones(3)),
}


def ways(function):
    trace = matching.Trace()
    return {
        "matched": lambda *args: choice.call(trace, function, args, {}),
        "default": torch.compile(function),
        "reduce-overhead": torch.compile(function, mode="reduce-overhead"),
    }


def told(function, *args):
    try:
        t = function(*args)
    except (RuntimeError, NotImplementedError) as error:
        return type(error), str(error)
    return t.dtype, t.device, None if t.is_meta else str(t.tolist())


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("switch", SET)
@pytest.mark.parametrize("way", ["matched", "default", "reduce-overhead"])
def test_a_known_call_under_another_switch(switch, name, way):
    x = torch.tensor([0, 1, 2])
    function = FUNCTIONS[name]
    compiled = ways(function)[way]
    for _ in range(6):
        compiled(x)
    on, off = SET[switch]
    on()
    try:
        for _ in range(4):
            assert told(compiled, x) == told(function, x)
    finally:
        off()
    assert switch != "determinism" or name == "empty" or told(compiled, x) == told(function, x)


@pytest.mark.parametrize("switch", SET)
def test_a_switch_within_a_call(switch):
    on, off = SET[switch]
    flags = []

    def function(x):
        before = x / 2
        if flags:
            on()
        try:
            return (
                told(lambda: torch.empty(2) * 0 + 1),
                told(lambda: before.cpu() * (x / 3)),
                told(torch.ones, 2),
            )
        finally:
            off()

    compiled = ways(function)["matched"]
    x = torch.tensor([0, 1, 2])
    for _ in range(2):
        for n in (0, 1):
            flags[:] = [1] * n
            for _ in range(5):
                found = compiled(x)
                assert found[1:] == function(x)[1:]
                assert not n or switch != "determinism" or "nan" in found[0][2]


def test_warnings_are_given_each_time():
    def function(x):
        return F.softmax(x).sum() + F.mse_loss(x, x[:1])

    compiled = ways(function)["matched"]
    x = torch.randn(3, 4)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for _ in range(6):
            given.clear()
            compiled(x)
            assert len(given) == 2


@pytest.mark.parametrize("way", ["matched", "default"])
@pytest.mark.parametrize(
    "product",
    [torch.mm, torch.matmul, F.linear, lambda a, b: (a @ b).relu(), lambda a, b: F.linear(a, b).sum(0)],
)
def test_autocast_that_is_entered_inside(product, way):
    weight, x = torch.nn.Parameter(torch.randn(8, 8)), torch.randn(6, 8)
    cast = [True]

    def function(x):
        with torch.autocast("cpu", torch.bfloat16, enabled=cast[0]):
            inside = product(x, weight)
        return inside, product(x, weight) + 1

    compiled = ways(function)[way]
    for enabled in (True, False, True):
        cast[0] = enabled
        for _ in range(5):
            for a, b in zip(compiled(x), function(x), strict=True):
                assert a.dtype is b.dtype and torch.equal(a, b)
