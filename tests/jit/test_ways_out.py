"""Ways out of nested blocks, what variables of outer blocks hold, and Python's functions that are ops."""

# mypy: disable-error-code="no-untyped-def,assignment,return-value"
# Programs of TorchScript: an argument without annotation is a tensor, and variables turn what they hold.

from __future__ import annotations

import cmath
import math
from typing import Any, Optional

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn
from rushlight.nn.init import _no_grad_fill_, _no_grad_zero_
from rushlight.nn.modules.utils import _list_with_default, _pair, _triple


def test_a_return_in_one_side_of_a_nested_if_leaves_the_other_sides_variables() -> None:
    def f(a: bool, b: bool, x: int):
        if a:
            if b:
                return x
            y = x + 1
        else:
            y = x + 2
        return y * 10

    made = torch.jit.script(f)
    for a in (True, False):
        for b in (True, False):
            assert made(a, b, 1) == f(a, b, 1)


def _hops(n: int):
    total, k, left = 0, 100, 0
    while k > 0:
        k -= 1
        if k % 3 == 0:
            total += 1
            if total > n:
                total = total * 100
                break
            left = 5
            q = 5
        elif k % 3 == 1:
            total += 7
            continue
        else:
            q = 6
        total += q
    return total, k, left


def test_what_a_way_out_has_changed_goes_on() -> None:
    made = torch.jit.script(_hops)
    assert [made(n) for n in range(0, 90, 10)] == [_hops(n) for n in range(0, 90, 10)]


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])

    def forward(self, x: Tensor, n: int):
        k = 0
        for i, layer in enumerate(self.layers):
            if i == n:
                return layer(x), k
            k += 1
        return x, k


def test_a_return_from_a_loop_over_layers() -> None:
    layers = Layers()
    made = torch.jit.script(layers)
    for n in range(5):
        wanted, k = layers(torch.ones(2), n)
        result, count = made(torch.ones(2), n)
        assert result.equal(wanted) and count == k


class Different(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.Sigmoid()])

    def forward(self, x: Tensor, n: int):
        for k, layer in enumerate(self.layers):
            h = None
            for i in range(3):
                if i == n:
                    if k == 1:
                        return x, "early"
                    break
                x = x + i
            h = layer(x)
            x = h * 2
        return x, "end"


def test_a_return_from_a_loop_over_layers_of_different_classes() -> None:
    layers = Different()
    made = torch.jit.script(layers)
    for n in range(4):
        wanted, why = layers(torch.ones(2), n)
        result, found = made(torch.ones(2), n)
        assert result.equal(wanted) and found == why


def test_behind_a_return_variables_may_become_something_else() -> None:
    def f(n: int):
        x = n
        if n > 2:
            return str(x)
        x = "s"
        with torch.no_grad():
            if n > 1:
                return x
        x = 1.5
        for _ in range(2):
            if n > 0:
                return str(x)
        x = [n]
        return str(x)

    made = torch.jit.script(f)
    assert [made(n) for n in range(4)] == ["[0]", "1.5", "s", "3"]


def test_loops_have_no_else() -> None:
    def f(n: int):
        while n > 0:
            n -= 1
            if n == 3:
                break
        else:
            n = 7
        return n

    with pytest.raises(torch.jit.frontend.NotSupportedError, match="else branches of while loops"):
        torch.jit.script(f)


def _chosen(kind: int, x: Tensor):
    whole: Optional[float] = None
    number = 1
    where = torch.device("meta")
    if kind > 0:
        whole = x.item()
        number = x
        where = "cpu"
    return whole, number, where


def test_variables_of_outer_blocks_take_numbers_of_tensors() -> None:
    made = torch.jit.script(_chosen)
    assert made(1, torch.tensor(2)) == (2.0, 2, torch.device("cpu"))
    assert made(0, torch.tensor(2)) == (None, 1, torch.device("meta"))

    def wrong(c: bool):
        x = None
        if c:
            x = 1
        return x

    with pytest.raises(RuntimeError, match="'x' previously had type NoneType but is now being assigned to"):
        torch.jit.script(wrong)

    def annotated():
        x: float = 1
        return x

    with pytest.raises(RuntimeError, match="'x' is annotated with type float but is being assigned to a"):
        torch.jit.script(annotated)


def _returned(x) -> tuple[int, list[int]]:
    return x, (1, 2)


def test_parts_of_tuples_turn_into_what_a_function_returns() -> None:
    assert torch.jit.script(_returned)(torch.tensor(3)) == (3, [1, 2])


def _tuples(n: int, s: float):
    return _pair(n), _triple(s), _pair((n, 2)), _list_with_default([n], [1, 2])


def _fills(x):
    _no_grad_fill_(x, 2.0)
    y = x.clone()
    return x, _no_grad_zero_(y)


def _numbers(z: complex):
    return cmath.exp(z), cmath.isinf(z), cmath.phase(z)


def _checked(x):
    torch._assert(x.sum() > 0, "not above 0")
    return max(x[0], 1), min(x[1], x.size(0)), torch._C._infer_size([1, 3], [2, 1])


def test_functions_of_torch_modules_that_are_helpers() -> None:
    assert torch.jit.script(_tuples)(3, 0.5) == ([3, 3], [0.5] * 3, [3, 2], [3])
    x, y = torch.jit.script(_fills)(torch.ones(2, requires_grad=True))
    assert x.tolist() == [2.0, 2.0] and y.tolist() == [0.0, 0.0]
    z = 0.5 + 1j
    assert torch.jit.script(_numbers)(z) == (cmath.exp(z), False, cmath.phase(z))
    assert torch.jit.script(_checked)(torch.tensor([3, 1])) == (3, 1, [2, 3])
    with pytest.raises(Exception, match="not above 0"):
        torch.jit.script(_checked)(torch.tensor([-3, 1]))


def _joined(x, y=None):
    if y is not None:
        x = torch.cat([x, y], 1)
    return x


def test_a_tensor_that_nobody_gave_is_left_out_of_cat() -> None:
    assert torch.jit.script(_joined)(torch.ones(2, 2)).shape == (2, 2)
    assert torch.jit.script(_joined)(torch.ones(2, 2), torch.ones(2, 1)).shape == (2, 3)


class Shape:
    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, x: Tensor) -> Tensor:
        return x * self.n


class Mapper(nn.Module):
    __annotations__ = {"scale": Optional[Shape]}

    def __init__(self) -> None:
        super().__init__()
        self.scale = None

    def forward(self, x: Tensor) -> Tensor:
        if self.scale is None:
            self.scale = Shape(3)
        scale = self.scale
        assert scale is not None
        return scale(x)


def test_an_attribute_may_become_an_object_of_a_class() -> None:
    assert torch.jit.script(Mapper())(torch.ones(1)).tolist() == [3.0]


def _resized(x: Tensor, scale: Optional[float], size: Optional[list[int]], again: Optional[bool]) -> Tensor:
    return F.interpolate(
        x, size=size, scale_factor=scale, mode="bilinear", align_corners=False, recompute_scale_factor=again
    )


def test_interpolate_with_a_scale_that_may_be_none() -> None:
    made: Any = torch.jit.script(_resized)
    x = torch.arange(35.0).reshape(1, 1, 5, 7)
    for options in ((1.7, None, True), (1.7, None, None), (None, [3, 4], None)):
        torch.testing.assert_close(made(x, *options), _resized(x, *options))
    with pytest.raises(Exception, match="either size or scale_factor should be defined"):
        made(x, None, None, None)


def _limits(x: float):
    return math.log(x), math.sqrt(x - 1.0), math.exp(x + 1e4), math.acos(x + 2), 1.0 / x, x % 0.0, x // 0.0


def _power(x: float, y: float):
    return x**y


def test_numbers_have_the_limits_that_they_have_in_c() -> None:
    found = torch.jit.script(_limits)(0.0)
    assert [found[0], found[2], found[4]] == [-math.inf, math.inf, math.inf]
    assert all(math.isnan(found[i]) for i in (1, 3, 5, 6))
    power = torch.jit.script(_power)
    assert power(10.0, 400.0) == math.inf and math.isnan(power(-1.0, 0.5))
    with pytest.raises(RuntimeError, match="0.0 cannot be raised to a negative power"):
        power(0.0, -1.0)


def _generated(x: Tensor, least: int):
    return any(n < least for n in x.shape[-2:]), sum(n * 2 for n in x.shape)


def test_generators_are_the_lists_that_they_give() -> None:
    made = torch.jit.script(_generated)
    assert made(torch.ones(2, 3, 4), 4) == (True, 18)
    assert made(torch.ones(2, 5, 4), 4) == (False, 22)


def _skipped(c: bool, n: int):
    total = 0
    if c:
        total = -1
    else:
        for i in range(n):
            if i % 3 == 0:
                continue
            total += i
            if total > 20:
                break
    return total


def test_loops_inside_of_an_if_are_left() -> None:
    made = torch.jit.script(_skipped)
    for n in (0, 5, 40):
        assert made(False, n) == _skipped(False, n) and made(True, n) == -1


def _divided(x: float, y: float, n: int):
    return x / y, x // y, x % y, (x + y) / (y * 2.0), n / 0, math.sin(x), math.exp(x), math.log10(x)


def test_of_zeros_infinities_and_nested_divisors() -> None:
    made = torch.jit.script(_divided)
    assert made(1.0, -0.0, -1)[:2] == (-math.inf, -math.inf) and math.isnan(made(1.0, 0.0, 1)[2])
    assert made(1.0, 0.1, 3)[:4] == (10.0, 10.0, 1.0 % 0.1, 1.1 / 0.2)  # C's floor of the quotient
    assert made(math.inf, 2.0, -3)[1:2] == (math.inf,) and made(1.0, 2.0, -3)[4] == -math.inf
    assert math.isnan(made(math.inf, 1.0, 1)[5]) and made(800.0, 1.0, 1)[6] == math.inf
    assert made(0.0, 1.0, 1)[7] == -math.inf and math.isnan(made(-1.0, 1.0, 1)[7])

    def whole(n: int, m: int):
        return n // m

    assert torch.jit.script(whole)(-7, 2) == -4
    with pytest.raises(RuntimeError, match="division by 0"):
        torch.jit.script(whole)(1, 0)


def _either(x: Tensor, one: bool) -> Tensor | list[Tensor] | None:
    parts = [x, x]
    if one:
        return parts[0]
    return parts


def _counted(n: int) -> int | str:
    for i in range(3):
        if i == n:
            return i
    return "none"


def test_returns_of_several_types_in_branches() -> None:
    x = torch.ones(1)
    made = torch.jit.script(_either)
    assert made(x, True).equal(x) and [t.equal(x) for t in made(x, False)] == [True, True]
    counted = torch.jit.script(_counted)
    assert [counted(n) for n in (1, 5)] == [1, "none"]
