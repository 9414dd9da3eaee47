"""Compiled functions whose arguments are one tensor, share memory with each other, or with what is written."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.trace.effects.lending import _memory


def given(case: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Two fresh arguments of four numbers."""
    x = torch.arange(5.0) + 1
    first = x[:4]
    return {
        "apart": (first.clone(), x[1:].clone() + 2),
        "the same": (first, first),
        "a view": (first, first.view(4)),
        "overlapping": (first, x[1:]),
    }[case]


def reads(a: Any, b: Any) -> Any:
    return (a * 2 + b).relu()


def writes(a: Any, b: Any) -> Any:
    b.mul_(3)
    a.add_(1)
    return a - b


@pytest.mark.parametrize("function", [reads, writes])
@pytest.mark.parametrize("options", [{}, {"fullgraph": True}, {"backend": "eager"}], ids=str)
def test_programs_hold_for_what_shares_memory_and_what_does_not(
    function: Callable[..., Any], options: dict[str, Any]
) -> None:
    if options.get("fullgraph") and function is writes:
        options = {}
    compiled = torch.compile(function, **options)
    for case in ("apart", "the same", "overlapping", "apart", "the same", "a view", "apart", "overlapping"):
        for _ in range(4):
            args, expected = given(case), given(case)
            found = compiled(*args)
            assert torch.equal(found, function(*expected)), case
            assert torch.equal(args[0], expected[0]) and torch.equal(args[1], expected[1]), case


def test_the_first_calls_with_one_tensor_twice() -> None:
    compiled = torch.compile(torch.trapezoid)
    a, b = torch.tensor([0.0, 1.0, 3.0]), torch.tensor([1.0, 2.0, 5.0])
    for _ in range(4):
        assert compiled(a, a).item() == 4.5
    for _ in range(4):
        assert compiled(a, b).item() == 6.5


def test_an_argument_that_is_a_buffer_which_the_module_writes_to() -> None:
    class Doubling(torch.nn.Module):
        held: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("held", torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.held.mul_(2)
            return self.held + x

    for others in (0, 3):
        module = Doubling()
        compiled = torch.compile(module)
        for _ in range(others):
            compiled(torch.ones(3))
        for _ in range(4):
            before = module.held.clone()
            assert torch.equal(compiled(module.held), 4 * before)


def _told(results):
    """How results lie, and which of them are the same."""
    first = results[0].untyped_storage().data_ptr()
    return [
        (t.shape, t.stride(), t.storage_offset(), t.untyped_storage().data_ptr() == first) for t in results
    ] + [a is b for a in results for b in results]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [(x * 2)[:, :3]],
        lambda x: [(x * 2)[:, :1].expand(4, 6)],
        lambda x: (x * 2).chunk(2, 1),
        lambda x: (lambda y: [y, y, y[1:], y.view(-1)])(x.sin()),
        lambda x: (lambda y: [y, y.detach()])(x.sin()),
        lambda x: [x[1:], x, x.t()],
    ],
)
@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("fullgraph", [False, True])
def test_results_lie_as_eagerly(function, tracked, fullgraph):
    compiled = torch.compile(function, fullgraph=fullgraph)
    for call in range(6):
        x, y = (torch.randn(4, 6).requires_grad_(tracked) for _ in range(2))
        with torch.no_grad():
            y.copy_(x)
        wanted, found = function(x), compiled(y)
        assert _told(found) == _told(wanted), call
        if tracked:
            torch.stack([t.sum() for t in wanted]).sum().backward()
            torch.stack([t.sum() for t in found]).sum().backward()
            assert torch.equal(x.grad, y.grad)
        with torch.no_grad():
            wanted[-1].detach()[..., :1].mul_(3)
            found[-1].detach()[..., :1].mul_(3)
        assert all(map(torch.equal, wanted, found)) and torch.equal(x, y), call


@pytest.mark.parametrize("fullgraph", [False, True])
def test_what_is_stored_is_what_is_given(fullgraph):
    class Stores(torch.nn.Module):
        def forward(self, x):
            self.latest = x + 1
            return self.latest

    module = Stores()
    compiled = torch.compile(module, fullgraph=fullgraph)
    for number in range(5):
        assert compiled(torch.full((3,), float(number))) is module.latest
        assert module.latest.tolist() == [number + 1.0] * 3


def test_the_rest_of_the_memory_of_a_result_that_is_a_view() -> None:
    def run(change: Any) -> list[torch.Tensor]:
        f = change(lambda x: (x * 2 + 1)[1:3])
        return [torch.as_strided(f(torch.arange(6.0) + i), (6,), (1,), 0) for i in range(6)]

    for mine, own in zip(run(torch.compile), run(lambda f: f), strict=True):
        assert torch.equal(mine, own)


WEIGHT = torch.ones(3, requires_grad=True)
HELD: list[torch.Tensor] = []


def _multiplies(x: torch.Tensor) -> torch.Tensor:
    x.mul_(WEIGHT * 3)
    return x * 2


def _sets(x: torch.Tensor) -> torch.Tensor:
    x[0] = 5
    return x.exp()


def _multiplies_late(x: torch.Tensor) -> torch.Tensor:
    if len(HELD) % 6 > 0:
        x.mul_(WEIGHT * 3)
    HELD.append(x)
    return x * 2


def _done(f: Callable[..., Any], tracked: bool) -> list[Any]:
    """What six calls do to their argument, and to the gradients."""
    found: list[Any] = []
    for _ in range(6):
        WEIGHT.grad = None
        start = torch.ones(3, requires_grad=tracked)
        x = start * 1
        y = f(x)
        node = None if x.grad_fn is None else x.grad_fn.name()
        if y.requires_grad:
            (x.sum() + y.sum()).backward()
        found.append((x._version, node, WEIGHT.grad, start.grad, x.detach().clone(), y))
    return found


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("function", [_multiplies, _sets, _multiplies_late])
def test_what_is_done_to_an_argument_is_done_to_it_at_every_call(
    function: Callable[..., Any], tracked: bool, fullgraph: bool
) -> None:
    wanted = _done(function, tracked)
    fullgraph = fullgraph and function is not _multiplies_late
    found = _done(torch.compile(function, fullgraph=fullgraph), tracked)
    for mine, own in zip(found, wanted, strict=True):
        assert mine[:2] == own[:2]
        torch.testing.assert_close(mine[2:], own[2:], rtol=0, atol=0)


def test_an_argument_that_is_held_is_written_to_by_others_later() -> None:
    f = torch.compile(lambda x: HELD.append(x) or x + 1)
    for _ in range(4):
        latest = torch.ones(3)
        f(latest)
        latest.add_(1)
        assert HELD[-1].tolist() == [2, 2, 2]


def _hooks(x: torch.Tensor, held: list[Any]) -> torch.Tensor:
    x.register_hook(lambda grad: grad * 10)
    return x * 2


def _attacks(x: torch.Tensor, held: list[Any]) -> torch.Tensor:
    start = x.detach().requires_grad_()
    (start * start).sum().backward()
    x.retain_grad()
    return x * start.grad


def _turns(x: torch.Tensor, held: list[Any]) -> torch.Tensor:
    with torch.no_grad():
        x.t_()
    return x + 1


def _collects(x: torch.Tensor, held: list[Any]) -> torch.Tensor:
    held.append(x)
    held.append({"twice": x * 2, "same": (x, 1)})
    return x + 1


@pytest.mark.parametrize("function", [_hooks, _attacks, _turns, _collects])
def test_what_is_kept_of_an_argument_or_put_into_one(function: Callable[..., Any]) -> None:
    def run(f: Callable[..., Any]) -> list[Any]:
        found: list[Any] = []
        for _ in range(5):
            start = torch.ones(2, 3, requires_grad=True)
            x, held = start * 1, [torch.zeros(1)]
            (f(x, held).sum() + x.sum()).backward()
            grad, same = x.grad if x.retains_grad else None, [h is x for h in held]
            found.append((start.grad, grad, x.stride(), len(held), same, torch.is_tensor(held[0])))
        return found

    wanted = run(function)
    torch.testing.assert_close(run(torch.compile(function)), wanted)


def test_a_leaf_gets_its_gradient_within() -> None:
    def attack(x: torch.Tensor) -> Any:
        (x * x).sum().backward()
        return x.grad.sign()

    f = torch.compile(attack)
    for _ in range(5):
        x = torch.ones(3, requires_grad=True)
        assert f(x).tolist() == [1, 1, 1] and x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("fullgraph", [False, True])
def test_writes_to_a_view_reach_its_base_in_every_call(fullgraph):
    def write(x):
        x.mul_(2)
        return x + 1

    compiled = torch.compile(write, fullgraph=fullgraph)
    for _ in range(4):
        leaf = torch.ones(3, requires_grad=True)
        base = leaf * 1
        compiled(base[1:])
        assert torch.autograd.grad(base.sum(), leaf)[0].tolist() == [1, 2, 2]


def test_views_that_a_call_gives_are_the_arguments():
    whole = torch.compile(lambda x: x.view(-1))
    for _ in range(4):
        leaf = torch.ones(2, requires_grad=True)
        x = leaf * 1
        view = whole(x)
        view.mul_(3)
        x[0] = 4.0
        view.sum().backward()
        assert leaf.grad.tolist() == [0, 3]


def test_views_of_views_that_a_call_gives_are_the_arguments():
    compiled = torch.compile(lambda x: (x[1:], x[1:][0]))
    for _ in range(4):
        for memory, step in ((torch.zeros(3), 1), (torch.zeros(6), 2)):
            x = memory if step == 1 else memory[::step]
            rest, first = compiled(x)
            x.add_(1)
            assert rest._base is memory and first._base is memory
            assert (rest.tolist(), first.item()) == ([1, 1], 1)


def test_what_a_call_keeps_of_its_arguments_is_theirs():
    class Holder:
        pass

    holder = Holder()

    def keep(x, into):
        into["nested"], into["view"], into["data"] = (x, [x]), x[0], x.data
        holder.x = x
        return x * 2

    compiled = torch.compile(keep)
    for _ in range(4):
        x, into = torch.zeros(2), {}
        compiled(x, into)
        x.add_(1)
        assert into["nested"][0] is x and into["nested"][1][0] is x and holder.x is x
        assert into["view"].item() == 1 and into["data"].tolist() == [1, 1]


@pytest.mark.parametrize("fullgraph", [False, True])
def test_every_call_refuses_what_eager_ones_do(fullgraph):
    sine = torch.compile(lambda x: x.sin(), fullgraph=fullgraph)
    write = torch.compile(lambda x: x.add_(1), fullgraph=fullgraph)
    for _ in range(5):
        x = torch.ones(2, requires_grad=True) * 1
        y = sine(x)
        x.detach().add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
        with pytest.raises(RuntimeError, match="more than one element"):
            write(torch.ones(1).expand(3))


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_call_that_fails_has_written_what_it_wrote(fullgraph):
    def write(x, fails):
        x.add_(1)
        assert not fails
        return x * 2

    compiled = torch.compile(write, fullgraph=fullgraph)
    for fails in (True, True, True, True):
        x = torch.zeros(2)
        with pytest.raises(AssertionError):
            compiled(x, fails)
        assert x.tolist() == [1, 1]


def test_threads_record_calls_of_one_argument():
    compiled = torch.compile(lambda x: x.sin() + x)
    x = torch.ones(3, requires_grad=True)
    memory = x.data_ptr()
    found = []

    def work():
        for _ in range(5):
            y = compiled(x)
            y.sum().backward()
            found.append(y.detach())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20 and all(y.equal(found[0]) for y in found)
    assert x.data_ptr() == memory and x.is_leaf


@pytest.mark.parametrize("collects", [False, True])
def test_views_that_a_refused_call_leaves_lie_in_the_argument(collects):
    held = []

    def step(x):
        found = x[1:], x.detach(), x.t(), x.t().data, x.view_as(x).data[1:], torch.from_numpy(x.numpy())
        held.append(found)  # an effect, so that the call is not replayed
        if collects:
            gc.collect()
        return x.sum().item()

    function = torch.compile(step, mode="default")
    for _ in range(3):
        x = torch.arange(6.0).reshape(2, 3)
        assert function(x) == 15
        x.fill_(7)
        assert all(bool((view == 7).all()) for view in held[-1])
        assert [v.data_ptr() - x.data_ptr() for v in held[-1]] == [12, 0, 0, 0, 12, 0]
    assert gc.isenabled()


def test_what_is_young_may_be_a_tensor_that_another_thread_is_about_to_make():
    half = object.__new__(torch.Tensor)
    assert _memory(half) is None
    half._array = torch.ones(2)._array
    assert _memory(half) is half._array
    x = torch.ones(2, dtype=torch.complex64)
    assert _memory(x.conj()).ctypes.data == x.data_ptr()


@pytest.mark.parametrize(
    "of",
    [
        lambda x: x[:, ::2],
        lambda x: x[1:, :3],
        lambda x: x.t()[::2],
        lambda x: x[:, :1].expand(2, 5),
        lambda x: x.as_strided((3, 3), (1, 1)),
        lambda x: x.as_strided((1, 3), (77, 1)),
        lambda x: x[:0, ::2],
    ],
)
def test_arguments_have_their_strides_in_every_call(of):
    def step(x):
        seen.append((x.stride(), x.is_contiguous()))
        held.append(x.detach()[:1].t().data)
        return x * 2, x.stride(), x.sum().item()

    held, seen = [], []
    function = torch.compile(step, mode="default")
    replayed = torch.compile(lambda x: (x * 2, x.stride()), mode="default")
    for _ in range(4):
        x = of(torch.arange(12.0).reshape(2, 6))
        wanted = x * 2
        for found in (function(x), replayed(x)):
            assert found[0].equal(wanted) and found[0].stride() == wanted.stride() and found[1] == x.stride()
        x.data.fill_(7) if 0 not in x.stride() and x.stride() != (1, 1) else None
        assert (
            held[-1].equal(x[:1].t())
            and held[-1].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        )
    assert {*seen} == {(x.stride(), x.is_contiguous())}
