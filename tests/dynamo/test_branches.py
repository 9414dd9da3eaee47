"""Branches and loops over tensors are nodes of the graphs that backends and make_fx give."""

from __future__ import annotations

import gc
import linecache
import threading
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight._dynamo.exc import UncapturedHigherOrderOpError
from rushlight._higher_order_ops.map import map as mapped
from rushlight._higher_order_ops.scan import scan
from rushlight._higher_order_ops.while_loop import while_loop
from rushlight._higher_order_ops.wrap import wrap
from rushlight.fx import GraphModule
from rushlight.fx.experimental.proxy_tensor import make_fx
from rushlight.utils.checkpoint import checkpoint


def compiled(f: Callable[..., Any], **how: Any) -> tuple[Callable[..., Any], list[GraphModule]]:
    """f, compiled, and the graphs that its backend gets."""
    graphs: list[GraphModule] = []

    def backend(module: GraphModule, inputs: Any) -> GraphModule:
        graphs.append(module)
        return module

    return torch.compile(f, backend=backend, **how), graphs


def called(module: GraphModule) -> list[str]:
    """The names of a graph's calls."""
    return [n.name for n in module.graph.nodes if n.op.startswith("call")]


def held(module: GraphModule) -> dict[str, list[str]]:
    """The calls of the graphs within, by where these are."""
    inner = {n: m for n, m in module.named_modules() if n and isinstance(m, GraphModule)}
    return {n: called(m) for n, m in inner.items()}


def branching(x: Any, y: Any) -> Any:
    z = x.sin()
    return torch.cond(x.sum() > 0, lambda a, b: a.sin() + y, lambda a, b: (a * b) - z, (x, y)).cos()


def test_a_branch_is_one_node_of_one_graph() -> None:
    f, graphs = compiled(branching, fullgraph=True)
    for seed in range(8):
        torch.manual_seed(seed)
        x, y = torch.randn(3), torch.randn(3)
        torch.testing.assert_close(f(x, y), branching(x, y), rtol=0, atol=0)
    assert len(graphs) == 1
    assert called(graphs[0]) == ["sin", "sum_1", "gt", "cond", "getitem", "cos"]
    assert held(graphs[0]) == {"cond_true_0": ["sin_1", "add"], "cond_false_0": ["mul", "sub"]}
    (node,) = [n for n in graphs[0].graph.nodes if n.name == "cond"]
    assert node.target is torch.ops.higher_order.cond
    assert [str(a) for a in node.args[3]] == ["l_x_", "l_y_", "sin"]


def test_a_branch_within_a_branch() -> None:
    def f(x: Any) -> Any:
        def inner(a: Any) -> Any:
            return torch.cond(a.sum() > 3, lambda q: q + 1, lambda q: q - 1, (a,))

        return torch.cond(x.sum() > 0, inner, lambda a: a * 2, (x,))

    run, graphs = compiled(f)
    for x in (torch.ones(3), 2 * torch.ones(3), -torch.ones(3)):
        assert torch.equal(run(x), f(x))
    assert len(graphs) == 1
    assert set(held(graphs[0])) == {
        "cond_true_1",
        "cond_true_1.cond_true_0",
        "cond_true_1.cond_false_0",
        "cond_false_1",
    }


def test_gradients_go_through_a_branch() -> None:
    layer = torch.nn.Linear(3, 3)

    def f(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda a: layer(a), lambda a: a * 2, (x,)) * 3

    run, graphs = compiled(f)
    for sign in (1, -1, 1, -1, 1, -1):
        x = (sign * torch.ones(2, 3)).requires_grad_()
        again = x.detach().clone().requires_grad_()
        layer.zero_grad()
        run(x).sum().backward()
        weight = layer.weight.grad
        layer.zero_grad()
        f(again).sum().backward()
        assert torch.equal(x.grad, again.grad)
        wanted = torch.zeros(3, 3) if layer.weight.grad is None else layer.weight.grad
        assert weight is not None and torch.equal(weight, wanted)
    assert len(graphs) == 1


def test_loops_are_nodes() -> None:
    def f(xs: Any, y: Any) -> Any:
        one = mapped(lambda x, y: x.sin() + y, xs, y)
        carry, two = scan(lambda c, x: (c + x, c * x), y, one)
        count, three = while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), carry))
        return two, count, three

    run, graphs = compiled(f)
    for _ in range(4):
        xs, y = torch.randn(4, 3), torch.randn(3)
        for got, wanted in zip(run(xs, y), f(xs, y), strict=True):
            assert torch.equal(got, wanted)
    assert len(graphs) == 1
    assert held(graphs[0]) == {
        "map_body_0": ["sin", "add"],
        "scan_combine_fn_0": ["add", "mul"],
        "cond_fn_0": ["lt"],
        "body_fn_0": ["add", "mul"],
    }


def test_what_is_no_graph_of_its_own_runs_as_it_is() -> None:
    def writes(a: Any) -> Any:
        a.add_(1)
        return a * 1

    def reads(a: Any) -> Any:
        return a * a.sum().item()

    for branch in (writes, reads):

        def f(x: Any, branch: Any = branch) -> Any:
            return torch.cond(x.sum() > 0, branch, lambda a: a - 1, (x * 1,))

        run, graphs = compiled(f)
        for _ in range(4):
            assert torch.equal(run(torch.ones(3)), f(torch.ones(3)))
        assert all("cond" not in called(g) for g in graphs)


def test_random_numbers_of_a_branch_are_drawn_once() -> None:
    def f(x: Any) -> Any:
        found = torch.cond(x.sum() > 0, lambda a: a + torch.rand(3), lambda a: a * 1, (x,))
        return found + torch.rand(3)

    run, _ = compiled(f)
    for seed in range(5):
        torch.manual_seed(seed)
        got = run(torch.ones(3)), torch.rand(2)
        torch.manual_seed(seed)
        wanted = f(torch.ones(3)), torch.rand(2)
        assert all(map(torch.equal, got, wanted))


def test_make_fx_has_them_too() -> None:
    module = make_fx(branching)(torch.ones(3), torch.ones(3))
    assert called(module) == ["sin", "sum_1", "gt", "cond", "getitem", "cos"]
    assert held(module) == {"true_graph_0": ["sin", "add"], "false_graph_0": ["mul", "sub"]}
    for x in (torch.ones(3), -torch.ones(3)):
        assert torch.equal(module(x, x * 2), branching(x, x * 2))

    def loop(xs: Any, y: Any) -> Any:
        return mapped(lambda x, y: x.sin() + y, xs, y)

    module = make_fx(loop)(torch.ones(4, 3), torch.ones(3))
    assert called(module) == ["map_impl", "getitem"]
    xs = torch.randn(5, 3)
    assert torch.equal(module(xs, xs[0]), loop(xs, xs[0]))


def test_grad_mode_is_told() -> None:
    def f(x: Any) -> Any:
        with torch.no_grad():
            y = x * 2
        return y + x

    run, graphs = compiled(f)
    x = torch.ones(3, requires_grad=True)
    for _ in range(4):
        x.grad = None
        run(x).sum().backward()
        assert x.grad is not None and torch.equal(x.grad, torch.ones(3))
    assert called(graphs[0]) == ["_set_grad_enabled", "mul", "_set_grad_enabled_1", "add"]
    assert torch.is_grad_enabled()


def test_the_forward_of_a_function_says_nothing_of_grad_mode() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    run, graphs = compiled(lambda x: Double.apply(x) + 1)
    run(torch.ones(3, requires_grad=True)).sum().backward()
    assert called(graphs[0]) == ["mul", "add"]


def test_hearing_a_branch_changes_nothing() -> None:
    total = torch.zeros(3)

    def adds(a: Any) -> Any:
        total.add_(a)
        return a * 2

    run, _ = compiled(lambda x: torch.cond(x.sum() > 0, adds, lambda a: a - 1, (x,)))
    for _ in range(3):
        assert torch.equal(run(torch.ones(3)), torch.full((3,), 2.0))
    assert torch.equal(total, torch.full((3,), 3.0))
    assert torch.equal(run(-torch.ones(3)), torch.full((3,), -2.0))
    assert torch.equal(total, torch.full((3,), 3.0))


def test_a_branch_may_hand_on_no_tensor_by_the_way() -> None:
    kept: list[Any] = []

    def keeps(a: Any) -> Any:
        kept.append(a * 2)
        return a + 1

    run, _ = compiled(lambda x: torch.cond(x.sum() > 0, keeps, lambda a: a - 1, (x,)))
    with pytest.raises(UncapturedHigherOrderOpError, match="SideEffects"):
        run(torch.ones(3))


def test_a_wrapped_call_is_a_graph_of_its_own() -> None:
    held_outside = torch.ones(3)

    def f(x: Any, y: Any) -> Any:
        one, two = wrap(lambda a: (a.sin() * held_outside, wrap(lambda b: b + y, a)), x)
        return one + two.cos()

    run, graphs = compiled(f, fullgraph=True)
    for _ in range(4):
        x = torch.randn(3, requires_grad=True)
        again = x.detach().clone().requires_grad_()
        run(x, x.detach()).sum().backward()
        f(again, x.detach()).sum().backward()
        assert x.grad is not None and torch.equal(x.grad, again.grad)
    assert len(graphs) == 1
    assert called(graphs[0]) == ["wrap", "getitem", "getitem_1", "cos", "add"]
    assert held(graphs[0]) == {
        "wrap_body_1": ["sin", "mul", "wrap", "getitem"],
        "wrap_body_1.wrap_body_0": ["add"],
    }


def test_a_wrapped_call_that_is_no_single_graph_is_told_by_its_ops() -> None:
    def breaks(a: Any) -> Any:
        torch._dynamo.graph_break()
        return a.sin()

    def writes(a: Any) -> Any:
        a.add_(1)
        return a.cos()

    for function, wanted in (
        (breaks, [["cos"], ["sin", "add"]]),
        (writes, [["cos", "add_", "cos_1", "add"]]),
    ):
        run, graphs = compiled(lambda x, f=function: (x.cos(), wrap(f, x) + 1)[1])
        assert torch.equal(run(torch.ones(3)), function(torch.ones(3)) + 1)
        assert list(map(called, graphs)) == wanted


def test_a_function_that_stores_elsewhere_is_no_graph_of_its_own() -> None:
    kept: list[int] = []

    def stores(a: Any) -> Any:
        kept.append(1)
        return a.sin()

    def own(a: Any) -> Any:
        found, names = [a], {}
        found.append(a.sin())
        names["last"] = found.pop()
        return names["last"]

    for function, wanted in ((stores, [["cos", "sin"], ["add"]]), (own, [["cos", "wrap", "getitem", "add"]])):
        run, graphs = compiled(lambda x, f=function: wrap(f, x.cos()) + 1)
        for _ in range(4):
            torch.testing.assert_close(run(torch.ones(3)), torch.ones(3).cos().sin() + 1)
        assert list(map(called, graphs)) == wanted
    assert len(kept) == 4  # once a call
    with pytest.raises(torch._dynamo.exc.Unsupported, match="Mutating a variable"):
        compiled(lambda x: wrap(stores, x), fullgraph=True)[0](torch.ones(3))
    with pytest.raises(UncapturedHigherOrderOpError, match="Mutating a variable"):
        compiled(lambda x: torch.cond(x.sum() > 0, stores, own, (x,)))[0](torch.ones(3))


def test_functions_may_give_views_of_what_they_make() -> None:
    weight = torch.randn(4, 4, requires_grad=True)

    def body(a: Any) -> Any:
        b = a @ weight  # whose exp's node keeps it
        return (b.exp() * b).T[1:].reshape(-1), a.cos().T

    for f in (lambda x: torch.cond(x.sum() > 0, body, body, (x,)), lambda x: mapped(body, x[None])):
        run, graphs = compiled(f, fullgraph=True)
        x = torch.randn(3, 4)
        assert all(map(torch.equal, run(x), f(x))) and len(graphs) == 1


def test_nodes_say_where_they_come_from() -> None:
    run, graphs = compiled(branching)
    run(torch.ones(3), torch.ones(3))
    nodes = {n.name: n for n in graphs[0].graph.nodes}
    assert "in branching\n    z = x.sin()" in nodes["sin"].stack_trace
    assert [name for name, _ in nodes["cond"].meta["source_fn_stack"]] == ["cond"]
    inner = {n.name: n for n in graphs[0].cond_false_0.graph.nodes}
    assert [name for name, _ in inner["mul"].meta["source_fn_stack"]] == ["cond", "mul"]
    text = graphs[0].print_readable(print_output=False)
    assert 'sin: "f32[3]" = l_x_.sin()' in text and "class cond_true_0(torch.nn.Module):" in text


@pytest.mark.parametrize("how", [{"use_reentrant": False}, {"use_reentrant": True}])
def test_a_checkpoint_is_a_node_and_computes_again(how: dict[str, Any]) -> None:
    layer = torch.nn.Linear(3, 3)
    calls: list[int] = []

    def body(a: Any) -> Any:
        return torch.nn.functional.dropout(layer(a).sin(), 0.5)

    def counted(a: Any) -> Any:  # no graph holds that
        calls.append(1)
        return body(a)

    def f(x: Any, part: Any) -> Any:
        return checkpoint(part, torch.nn.functional.dropout(x, 0.3) * 2, **how) + torch.rand(3)

    for part in (counted, body):
        run, graphs = compiled(f)
        for seed in range(5):
            grads = []
            for function in (run, f):
                calls.clear()
                torch.manual_seed(seed)
                x = torch.ones(2, 3, requires_grad=True)
                function(x, part).sum().backward()
                grads.append((x.grad, torch.rand(2)))
                assert len(calls) == (2 if part is counted else 0)
            assert torch.equal(grads[0][0], grads[1][0]) and torch.equal(grads[0][1], grads[1][1])
    found = [n for g in graphs for n in g.graph.nodes if n.name == "tag_activation_checkpoint"]
    assert found and found[0].target is torch.ops.higher_order.tag_activation_checkpoint
    assert dict(found[0].kwargs) == how


def test_the_random_state_may_be_asked_for_within_a_graph() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        state = torch.get_rng_state()
        return y + 1, state

    run, graphs = compiled(f)
    for _ in range(4):
        torch.manual_seed(7)
        wanted = torch.get_rng_state()
        assert torch.equal(run(torch.ones(3))[1], wanted)
    assert list(map(called, graphs)) == [["mul", "add"]]

    def g(x: Any) -> Any:
        y = x * torch.rand(3)
        state = torch.get_rng_state()
        return y + torch.rand(3), state

    run, graphs = compiled(g)
    for _ in range(4):
        torch.manual_seed(7)
        got = run(torch.ones(3))
        torch.manual_seed(7)
        assert all(map(torch.equal, got, g(torch.ones(3))))


def test_what_a_branch_sees_is_as_it_was_for_other_threads() -> None:
    weight, found = torch.full((2, 2), 3.0), list[Any]()

    def true(x: Any) -> Any:
        y = x @ weight
        other = threading.Thread(target=lambda: found.append((weight + 0).tolist()))
        other.start()
        other.join()
        return y + weight

    def f(x: Any) -> Any:
        return torch.cond(x.sum() > 0, true, lambda x: x - weight, (x,))

    g, graphs = compiled(f, fullgraph=True)
    x = torch.ones(2, 2)
    for _ in range(3):
        assert g(x).tolist() == [[9.0, 9.0], [9.0, 9.0]]
    assert len(graphs) == 1 and len(found) >= 3
    assert all(values == [[3.0, 3.0], [3.0, 3.0]] for values in found)


def test_calls_that_are_known_leave_nothing_behind() -> None:
    def f(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))

    g, _ = compiled(f)
    for _ in range(4):
        g(torch.ones(2))
    gc.collect()
    before = len(linecache.cache)
    for _ in range(10):
        g(torch.ones(2))
    gc.collect()
    assert len(linecache.cache) == before


def test_a_modules_text_lives_as_long_as_its_code() -> None:
    module = make_fx(lambda x: x + 1)(torch.ones(2))
    name = type(module).forward.__code__.co_filename
    assert name in linecache.cache
    del module
    gc.collect()
    assert name not in linecache.cache
