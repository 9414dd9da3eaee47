"""Annotations that are objects: their names need not be closed over. (No postponed annotations here.)"""

import rushlight as torch


def locally():
    from rushlight import Tensor as Here

    def run(x: Here) -> Here:
        return x + 1

    return run


def test_annotations_need_not_be_closed_over():
    assert torch.jit.script(locally())(torch.ones(1)).item() == 2


def test_one_number_stands_for_several():
    from rushlight._jit_internal import BroadcastingList2
    from rushlight.nn.common_types import _size_3_t

    def both(x: BroadcastingList2[float]) -> float:
        return x[0] + x[1]

    def three(x: _size_3_t) -> int:
        return x[0] + x[1] + x[2]

    def calls(n: int) -> int:
        return three(n) + three([1, 2, n])

    assert torch.jit.script(both)(4.5) == 9 and torch.jit.script(both)([1.0, 2.0]) == 3
    assert torch.jit.script(three)(2) == 6 and torch.jit.script(calls)(2) == 11


def test_attributes_with_a_type():
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.jit.Attribute({}, dict[str, int])

        def forward(self, x: int) -> int:
            self.table["a"] = x
            return len(self.table)

    model = torch.jit.script(Counts())
    assert model(3) == 1 and model.table == {"a": 3}


class Partly(torch.nn.Module):
    __jit_ignored_attributes__ = ["a"]

    def __init__(self, a, b: int):
        super().__init__()
        self.a = a
        self.b = b

    def forward(self, x):
        return x + self.b


def test_ignored_attributes():
    first = torch.jit.script(Partly(torch.nn.Linear(2, 2), 5))
    second = torch.jit.script(Partly("text", 10))
    assert first._c._type() == second._c._type() and second.a == "text"
    assert second(torch.ones(1)).item() == 11


def test_formats_that_do_not_fit():
    def number(x: str) -> str:
        return "%d" % x

    try:
        torch.jit.script(number)("a")
    except RuntimeError as error:
        assert "%d requires a number for formatting, but got String" in str(error)
    else:
        raise AssertionError
