"""torch.func.functionalize and functional tensors: the same results, and graphs as PyTorch 2.13 prints them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as torch
from rushlight._dispatch.python import enable_crossref_functionalize
from rushlight._subclasses.functional_tensor import (
    FunctionalTensor,
    FunctionalTensorMode,
    dispatch_functionalize,
)
from rushlight.func import functionalize
from rushlight.fx.experimental.proxy_tensor import make_fx
from rushlight.fx.passes.reinplace import reinplace
from rushlight.multiprocessing.reductions import StorageWeakRef

BOTH = pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])


def _input() -> Any:
    return torch.arange(6.0).reshape(2, 3)


def _seen(x: Any) -> Any:
    y = x.view(-1)
    y.add_(1)
    return x * 2


def _several(x: Any) -> Any:
    y = x.clone()
    y[0].zero_()
    y[:, 1].mul_(3)
    y.t()[1:].add_(5)
    return y


def _overwritten(x: Any) -> Any:
    y = torch.empty(2, 3)
    y.copy_(x)
    y.diagonal().fill_(7)
    return y


def _parts(x: Any) -> Any:
    y = x.clone()
    first, _ = y.unbind(0)
    first.sub_(1)
    _, last = y.chunk(2, 1)
    last.exp_()
    a, b = y.split([1, 1])
    b.neg_()
    return y, a + b


def _dims(x: Any) -> Any:
    y = x.clone()
    z = y.unsqueeze(0).squeeze(0).transpose(0, 1).permute(1, 0)
    z.mul_(2)
    x.unsqueeze(1).squeeze().narrow(1, 0, 2).T.movedim(0, 1).add_(1)
    return y


def _in_place(x: Any) -> Any:
    y = x.clone()
    y.transpose_(0, 1)
    y.t_()
    y.unsqueeze_(0)
    y.squeeze_()
    y.add_(1)
    return y


def _indexed(x: Any) -> Any:
    y = x.clone()
    y[y > 2] = 0
    y[:, [0, 1]] = 4
    y[0, 0] = 5
    y[:, 1:] = x[:, 1:] + 1
    y.index_put_((torch.tensor([0]),), torch.ones(3)).masked_fill_(y > 4, 0.5)
    return y.scatter_(0, torch.zeros(1, 3, dtype=torch.long), 2.0)


def _into(x: Any) -> Any:
    out, places = torch.empty(0), torch.empty(0, dtype=torch.long)
    torch.max(x, 1, out=(out, places))
    grown = torch.empty(0)
    torch.add(x, 1, out=grown)
    return out, places, grown.relu_()


def _strided(x: Any) -> Any:
    y = x.clone()
    y.as_strided((2, 2), (1, 2), 1).add_(1)
    y.detach().add_(2)
    y.data.mul_(3)
    return y.reshape(-1)[2:4]


def _expanded(x: Any) -> Any:
    y = torch.tensor([1.0, 2, 3])
    y.add_(x[0])
    x.ge_(2)
    return y


def _bits(x: Any) -> Any:
    y = x.clone()
    y.view(torch.int32).bitwise_or_(1 << 22)
    return y


def _complex(x: Any) -> Any:
    y = torch.view_as_complex(x[:, :2].clone())
    y.mul_(2j)
    y.conj().add_(1j)
    return torch.view_as_real(y)


def _resized(x: Any) -> Any:
    y, z = x.clone(), x.clone()
    y.resize_(2, 2)
    y.add_(1)
    z.resize_(3, 3)
    return y, z[0], x.clone().resize_as_(torch.ones(3, 2))


FUNCTIONS = [
    _seen,
    _several,
    _overwritten,
    _parts,
    _dims,
    _in_place,
    _indexed,
    _into,
    _strided,
    _expanded,
    _bits,
    _complex,
    _resized,
]


@BOTH
@pytest.mark.parametrize("f", FUNCTIONS)
def test_results_and_writes(f: Callable[..., Any], remove: str) -> None:
    plain, own, traced, again = (_input() for _ in range(4))
    wanted = f(plain)
    torch.testing.assert_close(functionalize(f, remove=remove)(own), wanted)
    torch.testing.assert_close(own, plain)
    graph = make_fx(functionalize(f, remove=remove))(traced)
    written = [n for n in graph.graph.nodes if getattr(n.target, "_schema", None) and n.target._schema.writes]
    assert all(n.target._schema.op_name == "copy_" for n in written)  # into the arguments, at the end
    torch.testing.assert_close(graph(again), wanted)
    torch.testing.assert_close(again, plain)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_reinplace_gives_the_same(f: Callable[..., Any]) -> None:
    plain, own = _input(), _input()
    wanted = f(plain)
    graph = reinplace(make_fx(functionalize(f))(_input()), _input())
    torch.testing.assert_close(graph(own), wanted)
    torch.testing.assert_close(own, plain)


def test_reinplace_writes_where_nobody_looks() -> None:
    graph = reinplace(make_fx(functionalize(_several))(_input()), _input())
    assert [n.target._schema.op_name for n in graph.graph.nodes if n.op == "call_function"].count(
        "zero_"
    ) == 1
    kept = reinplace(make_fx(lambda x: (x.clone(), x.clone() + 1, x + 2))(_input()), _input())
    assert [str(n.target) for n in kept.graph.nodes if n.op == "call_function"] == [
        "aten.clone.default",
        "aten.clone.default",
        "aten.add_.Tensor",
        "aten.add.Tensor",
    ]


def _hidden_view(x: Any) -> Any:
    made = x.clone()
    whole = torch.ops.aten._unsafe_view.default(made, [6])
    return whole + 1, made * 2


def _of_argument(x: Any) -> Any:
    return torch.ops.aten._unsafe_view.default(x, [6]) + 1


def _twice(x: Any) -> Any:
    made = x.clone()
    return made.scatter_add(0, torch.zeros(1, 3, dtype=torch.long), made)


@pytest.mark.parametrize("f", [_hidden_view, _of_argument, _twice])
def test_reinplace_leaves_memory_that_is_read(f: Callable[..., Any]) -> None:
    x = _input()
    graph = reinplace(make_fx(f)(_input()), _input())
    torch.testing.assert_close(graph(x), f(_input()))
    assert x.tolist() == _input().tolist()


def _code(f: Callable[..., Any], remove: str) -> list[str]:
    lines = make_fx(functionalize(f, remove=remove))(_input()).code.strip().splitlines()[1:]
    return [line.strip().partition(";")[0].replace("torch.ops.aten.", "") for line in lines]


def test_graphs_are_pytorchs() -> None:
    assert _code(_seen, "mutations") == [
        "view = view.default(x_1, [-1])",
        "add = add.Tensor(view, 1)",
        "view_1 = view.default(add, [2, 3])",
        "view_2 = view.default(view_1, [-1])",
        "mul = mul.Tensor(view_1, 2)",
        "copy_ = copy_.default(x_1, view_1)",
        "return mul",
    ]
    assert _code(_overwritten, "mutations_and_views") == [
        "empty = empty.memory_format([2, 3], device = device(type='cpu'), pin_memory = False)",
        "copy = copy.default(empty, x_1)",
        "diagonal_copy = diagonal_copy.default(copy)",
        "diagonal_copy_1 = diagonal_copy.default(copy)",
        "fill = fill.Scalar(diagonal_copy_1, 7)",
        "diagonal_scatter = diagonal_scatter.default(copy, fill)",
        "diagonal_copy_2 = diagonal_copy.default(diagonal_scatter)",
        "return diagonal_scatter",
    ]


def test_an_expanded_write_is_added_once() -> None:
    def f(x: Any) -> Any:
        y = x.clone()
        y.expand(2, 2, 3).add_(1)
        return y

    assert _code(f, "mutations") == [
        "clone = clone.default(x_1)",
        "expand = expand.default(clone, [2, 2, 3])",
        "add = add.Tensor(expand, 1)",
        "sub = sub.Tensor(add, clone)",
        "sum_1 = sum.dim_IntList(sub, [0], True)",
        "view = view.default(sum_1, [2, 3])",
        "add_1 = add.Tensor(clone, view)",
        "expand_1 = expand.default(add_1, [2, 2, 3])",
        "return add_1",
    ]
    with pytest.raises(RuntimeError, match="While executing unfold, functionalization encountered"):
        functionalize(lambda x: x.unfold(1, 2, 1).mul_(1))(_input())
    found = functionalize(lambda x: x.unfold(1, 2, 1).mul_(1), remove="mutations_and_views")(_input())
    assert found.tolist() == [[[0, 2], [2, 2]], [[3, 8], [8, 5]]]


def test_transforms_and_gradients_compose() -> None:
    x = _input()
    double = functionalize(lambda x: x.clone()[0].mul_(3).add_(2))
    assert torch.func.grad(lambda x: double(x).sum())(x).tolist() == [[3, 3, 3], [0, 0, 0]]
    inner = functionalize(lambda x: torch.func.grad(lambda y: y.clone().mul_(y).sum())(x))
    assert inner(x).tolist() == (2 * x).tolist()
    assert torch.vmap(functionalize(_in_place))(torch.ones(2, 2, 3)).tolist() == [[[2.0] * 3] * 2] * 2
    mapped = functionalize(torch.vmap(lambda x: x.clone().add_(x.sum())))(x)
    assert mapped.tolist() == [[3, 4, 5], [15, 16, 17]]
    leaf = x.clone().requires_grad_()
    double(leaf).sum().backward()
    assert leaf.grad.tolist() == [[3, 3, 3], [0, 0, 0]]


def test_functional_tensors_by_hand() -> None:
    x = _input()
    whole = torch._to_functional_tensor(x)
    seen = whole.view(-1)
    assert torch._is_functional_tensor(seen) and not torch._is_functional_tensor(x)
    seen.add_(1)
    assert torch._from_functional_tensor(whole).tolist() == x.tolist()
    torch._sync(whole)
    assert torch._from_functional_tensor(whole).tolist() == (x + 1).tolist() and x[0, 0] == 0
    assert repr(seen) == "_to_functional_tensor(tensor([1., 2., 3., 4., 5., 6.]))"
    assert whole.sum().item() == 21 and bool(whole[0, 0] == 1)
    with pytest.raises(RuntimeError, match="mutating a non-functional tensor with a functional tensor"):
        x.add_(whole)
    torch._freeze_functional_tensor(whole)
    with pytest.raises(RuntimeError, match="cannot mutate tensors with frozen storage"):
        seen.add_(1)


def test_a_view_does_not_grow() -> None:
    for f in (lambda y: y[0].resize_(7), lambda y: (y.view(-1), y.resize_(9))):
        with pytest.raises(RuntimeError, match="Attempted to resize a view tensor to a larger size"):
            functionalize(lambda x, f=f: f(x.clone()))(_input())


def test_what_is_made_meanwhile_is_functional() -> None:
    x = _input()
    torch._enable_functionalization(reapply_views=True)
    try:
        with pytest.raises(RuntimeError, match="multiple layers of mode-style functionalization"):
            torch._enable_functionalization()
        made, plain = torch.ones(2), x + 1
    finally:
        torch._disable_functionalization()
    assert torch._is_functional_tensor(made) and not torch._is_functional_tensor(torch.ones(2))
    assert torch._is_functional_tensor(plain) is False


def test_classes_that_hear_ops_are_wrapped_and_heard() -> None:
    heard = []

    class Told(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            heard.append((str(func), [type(a).__name__ for a in args]))
            found = func(*[a.as_subclass(torch.Tensor) if type(a) is cls else a for a in args])
            return found.as_subclass(cls)

    x, y = torch.ones(4).as_subclass(Told), torch._to_functional_tensor(torch.ones(4).as_subclass(Told))
    z = x + y
    z.add_(1)
    assert heard == [("aten.add.Tensor", ["Told", "Told"]), ("aten.add.Tensor", ["Told", "int"])]


def test_pythons_classes() -> None:
    def f(x: Any) -> Any:
        y = x.view(-1)
        x.mul_(2)
        return y + 1

    assert dispatch_functionalize(f)(_input()).tolist() == [1, 3, 5, 7, 9, 11]
    x = _input()
    with FunctionalTensorMode():
        given = FunctionalTensor.to_functional(x)
        assert isinstance(f(given), FunctionalTensor)
    assert given.from_functional().tolist() == (2 * _input()).tolist()


def test_results_are_compared() -> None:
    with enable_crossref_functionalize():
        torch.testing.assert_close(functionalize(_several)(_input()), _several(_input()))
        with pytest.raises(
            AssertionError, match="select.int: storage_offset is 0 of a functional tensor, not 3"
        ):
            functionalize(lambda x: x[1], remove="mutations_and_views")(_input())


def test_views_keep_no_tensors_alive() -> None:
    whole = torch._to_functional_tensor(_input()) + 0
    turned, seen = whole + 0, whole[0]
    turned.t_()
    gone = weakref.ref(whole), weakref.ref(turned)
    del whole, turned
    assert [r() for r in gone] == [None, None]
    assert seen.add_(1).from_functional().tolist() == [1, 2, 3]


def test_views_share_a_storage() -> None:
    whole = torch._to_functional_tensor(_input())
    seen = whole.view(-1)
    assert seen.untyped_storage()._cdata == whole.untyped_storage()._cdata
    assert (whole + 1).untyped_storage()._cdata != whole.untyped_storage()._cdata

    def f(x: Any, w: Any) -> Any:
        return torch.func.grad(lambda w: (x.view(-1).add_(1).sum() * w).sum())(w)

    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        functionalize(f)(_input(), torch.ones(2))


def test_a_modes_block_in_another_changes_nothing() -> None:
    mode = FunctionalTensorMode()
    with mode:
        with mode, FunctionalTensorMode():
            assert torch._is_functional_tensor(torch.ones(2))
        assert torch._is_functional_tensor(torch.ones(2))
    assert not torch._is_functional_tensor(torch.ones(2))


def test_arguments_by_name() -> None:
    def f(x: Any) -> Any:
        seen = torch.ops.aten.view.default(size=[6], self=x.clone())
        return torch.ops.aten.add_.Tensor(other=1, self=seen)

    assert functionalize(f)(_input()).tolist() == [1, 2, 3, 4, 5, 6]


def test_a_storage_that_is_gone_is_no_other() -> None:
    x = torch.ones(1000)
    handle = StorageWeakRef(x.untyped_storage())
    places = {handle: 1}
    del x
    others = [StorageWeakRef(torch.ones(1000).untyped_storage()) for _ in range(20)]
    assert handle.expired() and handle not in others and places[handle] == 1


def test_storages_are_told_by_their_memory() -> None:
    x = _input()
    own, other = StorageWeakRef(x.untyped_storage()), StorageWeakRef(x.clone().untyped_storage())
    assert own == StorageWeakRef(x[1].untyped_storage()) and own != other
    assert not own.expired() and other.expired()


def test_ops_of_programs() -> None:
    @torch.library.custom_op("functionalized::more", mutates_args=())
    def more(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @torch.library.custom_op("functionalized::add_one_", mutates_args=("x",))
    def add_one_(x: torch.Tensor) -> None:
        x.add_(1)

    assert functionalize(lambda x: more(x.clone().mul_(2)))(_input()).tolist() == [[1, 3, 5], [7, 9, 11]]
    with pytest.raises(RuntimeError, match="custom .non-ATen. operator whose output has alias annotations"):
        functionalize(add_one_)(_input())


def test_a_training_step_without_writes() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(inplace=True), torch.nn.Linear(4, 1))
    names = [name for name, _ in model.named_parameters()]

    def step(x: Any, *values: Any) -> Any:
        params = dict(zip(names, values, strict=True))
        grads = torch.func.grad(lambda p: torch.func.functional_call(model, p, (x,)).square().mean())(params)
        for name in params:
            params[name].sub_(grads[name], alpha=0.1)
        return grads

    x, values = torch.randn(3, 4), [p.detach().clone() for p in model.parameters()]
    own = [p.clone() for p in values]
    torch.testing.assert_close(functionalize(step)(x, *own), step(x, *values))
    torch.testing.assert_close(own, values)


def test_a_write_on_meta_is_to_no_captured_tensor() -> None:
    x, w = torch.ones(3, 4, device="meta"), torch.ones(4, 4, device="meta")
    assert torch.func.grad(lambda w: torch.relu_(x @ w).sum())(w).shape == (4, 4)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        torch.func.grad(lambda w: (w * x[:1].relu_()).sum())(w)
