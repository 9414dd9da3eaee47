"""Python that programs of others compile: comprehensions, devices by name, classes held by modules."""

from __future__ import annotations

import io
from typing import Dict, List, NamedTuple, Optional, Tuple  # as programs spell them

import pytest

import rushlight as torch
from rushlight import nn


class Recipe:
    """A class of a program's own, that modules hold."""

    def __init__(self, sizes: List[int], places: Dict[int, int]) -> None:
        self.sizes, self.places = sizes, places


def _product(recipe: Recipe, shape: List[int]) -> int:
    found = 1
    for size in recipe.sizes:
        found *= size
    return found + len(shape) + len(recipe.places)


class Holder(nn.Module):
    """A module with a dict of objects."""

    def __init__(self) -> None:
        super().__init__()
        self.recipes = {n: Recipe([n, 2], {0: n}) for n in (1, 2)}

    def forward(self, x: torch.Tensor) -> int:
        return _product(self.recipes[x.ndim], x.shape)


def test_objects_that_a_module_holds_are_compiled() -> None:
    assert torch.jit.script(Holder())(torch.ones(3, 4)) == 2 * 2 + 2 + 1


def test_comprehensions_and_lists_of_what_loops_go_over() -> None:
    @torch.jit.script
    def made(n: int, x: Dict[int, int], y: List[int]):
        a: Dict[int, int] = {k: y[v] for k, v in x.items()}
        b: List[int] = list()
        b.append(n)
        return a, {v: str(v) for v in y}, list(range(1, n, 2)), list(enumerate(y)), list(zip(y, range(n))), b

    assert made(3, {1: 0, 2: 1}, [5, 6]) == (
        {1: 5, 2: 6},
        {5: "5", 6: "6"},
        [1],
        [(0, 5), (1, 6)],
        [(5, 0), (6, 1)],
        [3],
    )


def test_a_device_by_its_name_and_sparse_tensors() -> None:
    @torch.jit.script
    def made(x: torch.Tensor):
        places, values = torch.tensor([[0, 1], [1, 0]], device="cpu"), torch.tensor([1.0, 2.0], device="cpu")
        found = torch.sparse_coo_tensor(indices=places, values=values, size=(2, 2))
        rows = torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([0]), x.detach(), size=(1, 2))
        return found.coalesce().to_sparse_csr().crow_indices(), rows.layout == torch.sparse_csr, x.is_signed()

    crow, same, signed = made(torch.ones(1))
    assert (crow.tolist(), same, signed) == ([0, 1, 2], True, True)


class Parts(nn.Module):
    """A module that counts its children."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(2, 2), nn.ReLU(), nn.ReLU()])

    def forward(self, x: torch.Tensor):
        return [x] * len(self.parts), "bc" in "abc", torch.compiler.is_compiling()


def test_the_length_of_a_module_list() -> None:
    found, inside, compiling = torch.jit.script(Parts())(torch.ones(1))
    assert (len(found), inside, compiling) == (3, True, False)


def test_an_error_of_an_op_is_a_runtime_error_that_tells_the_line() -> None:
    @torch.jit.script
    def taken(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        return y.select(1, 5)

    with pytest.raises(
        RuntimeError, match=r"TorchScript interpreter[\s\S]*return y.select\(1, 5\)[\s\S]*HERE"
    ):
        taken(torch.ones(2, 2))


def test_a_function_that_only_raises_has_any_result() -> None:
    @torch.jit.script
    def never(x: torch.Tensor) -> int:
        raise ValueError("only this")

    with pytest.raises(torch.jit.Error, match="only this"):
        never(torch.ones(1))


def test_subscripts_as_fx_writes_them() -> None:
    @torch.jit.script
    def taken(x: torch.Tensor):
        return x[(Ellipsis, slice(None, 1, None))], x[slice(0, 2), 0]

    first, second = taken(torch.arange(12.0).reshape(3, 4))
    assert first.tolist() == [[0.0], [4.0], [8.0]] and second.tolist() == [0.0, 4.0]


def _indexed(x: torch.Tensor):
    return (
        (x[..., None], x[..., None, None], x[..., None, :, :], x[None, ..., None], x[0, ..., None]),
        (x[..., 0, None], x[..., None, 0], x[:, None, ..., None, 1:2], x[..., 1, None, :], x[:]),
    )


@pytest.mark.parametrize("compiled", [torch.jit.script, lambda f: torch.jit.trace(f, torch.zeros(2, 3, 4))])
def test_new_dims_before_and_behind_dots(compiled) -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    for found, wanted in zip(compiled(_indexed)(x), _indexed(x), strict=True):
        for a, b in zip(found, wanted, strict=True):
            torch.testing.assert_close(a, b)


def test_methods_of_text() -> None:
    @torch.jit.script
    def told(x: str):
        return x.isnumeric(), x.isalnum(), x.center(8, "*"), x.zfill(6), x.rpartition("b"), x.rfind("b")

    assert told("aBb1") == (False, True, "**aBb1**", "00aBb1", ("aB", "b", "1"), 2)


def _chosen_by_mask(x: torch.Tensor, v: int) -> torch.Tensor:
    x[x == float("inf")] = 0
    x[x > 2] = v
    x[torch.tensor([0])] = True
    x[x < 0] *= 3
    x[torch.tensor([0, 1]), 1] += 0.5
    return x


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.complex64])
def test_numbers_are_put_where_tensors_choose(dtype: torch.dtype) -> None:
    """A number is stored in the tensor's dtype; `x[chosen] += y` writes back what it has computed."""
    x = torch.tensor([[1, float("inf"), 5], [-2, 4, 3]])
    if dtype.is_complex:  # which are not ordered

        def chosen(x: torch.Tensor) -> torch.Tensor:
            x[torch.tensor([True, False])] = 3
            x[torch.tensor([1])] *= 2
            return x

        assert torch.equal(
            torch.jit.script(chosen)(torch.ones(2, 3, dtype=dtype)),
            torch.tensor([[3] * 3, [2] * 3]).to(dtype),
        )
        return
    given = x.to(dtype)
    assert torch.equal(torch.jit.script(_chosen_by_mask)(given.clone(), 7), _chosen_by_mask(given.clone(), 7))


class _Counter:
    """A class of a program's own, with a number."""

    def __init__(self) -> None:
        self.count = 1


def _augmented(
    lists: List[List[int]], tensors: List[torch.Tensor], table: Dict[str, int], keys: List[str]
) -> Tuple[int, int, int]:
    lists.pop()[0] += 1
    tensors.pop()[0] += 1
    table[keys.pop()] += 1
    counters = [_Counter(), _Counter(), _Counter()]
    kept = counters[2]
    counters.pop().count += 4
    return len(lists), len(tensors), len(counters) * 10 + kept.count


def test_targets_of_augmented_assignments_are_evaluated_once() -> None:
    """What is in the target of `+=` happens once, to the same object that is read and written."""
    made = torch.jit.script(_augmented)
    table = torch.jit.script({"a": 1, "b": 2})
    tensors = [torch.zeros(2) for _ in range(4)]
    assert made([[1], [2], [3], [4]], tensors, table, ["a", "b"]) == (3, 3, 25)
    assert (table["a"], table["b"]) == (1, 3)
    assert [t.tolist() for t in tensors] == [[0, 0]] * 3 + [[1, 0]]


class _Pair(NamedTuple):
    """A tuple with names."""

    numbers: List[int]
    scale: float


def test_lists_in_tuples_stay_the_callers() -> None:
    """A scripted function gets a copy of a list, also where a tuple holds it."""

    def plain(t: Tuple[List[int], int], u: Optional[Tuple[List[int], int]] = None) -> int:
        t[0].append(5)
        if u is not None:
            u[0].append(6)
        return len(t[0])

    def named(t: _Pair) -> _Pair:
        t.numbers.append(5)
        return t

    given = ([1], 2)
    assert torch.jit.script(plain)(given, given) == 2
    assert given == ([1], 2)
    pair = _Pair([1], 2)
    found = torch.jit.script(named)(pair)
    assert (pair, found) == (_Pair([1], 2), _Pair([1, 5], 2.0))
    assert type(found) is _Pair
    assert type(found.scale) is float


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * 100, None


class _Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x, x + 1

    @staticmethod
    def backward(ctx, first, second):
        return first * 10


def test_scripts_apply_functions_of_autograd():
    @torch.jit.script
    def doubled(x):
        return _Doubled.apply(x, 2.0) + 1

    @torch.jit.script
    def both(x):
        first, second = _Both.apply(x)
        return first + second

    x = torch.ones(2, requires_grad=True)
    assert doubled(x).tolist() == [3, 3]
    assert both(x).tolist() == [3, 3]
    (doubled(x) + both(x)).sum().backward()
    assert x.grad.tolist() == [110, 110]
    assert "^_Doubled" in str(doubled.graph)
    with pytest.raises(RuntimeError, match="Could not export Python function call '_Doubled'"):
        doubled.save(io.BytesIO())


def _by_keyword(x):
    return _Doubled.apply(x, factor=2.0)


def test_functions_of_autograd_are_applied_without_keywords():
    with pytest.raises(RuntimeError, match=r"Function.apply\(Tensor cls, ...\).*\nKeyword argument factor"):
        torch.jit.script(_by_keyword)


class _Masked(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor = None) -> torch.Tensor:
        return x + 1


def test_none_may_stand_for_a_tensor_that_nothing_reads():
    scripted = torch.jit.script(_Masked())
    assert scripted(torch.ones(1)).tolist() == [2]
    assert scripted(torch.ones(1), None).tolist() == [2]
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    assert torch.jit.load(file)(torch.ones(1)).tolist() == [2]
