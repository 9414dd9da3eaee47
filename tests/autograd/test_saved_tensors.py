"""Saved-tensor hooks: what they see, what they give back, and where they are refused."""

import contextlib
import threading
from typing import Any

import pytest

import rushlight as torch
from rushlight._engine.autograd.node import TRACES

G = torch.autograd.graph


@pytest.fixture
def x():
    return torch.tensor([1.0, 2.0], requires_grad=True, dtype=torch.float64)


class _Log(list):
    def hooks(self, name="p"):
        return G.saved_tensors_hooks(
            lambda t: (self.append((name, t.tolist())), t)[1],
            lambda t: (self.append(("u", t.tolist())), t)[1],
        )


def test_each_saved_tensor_passes_through(x):
    log = _Log()
    with log.hooks():
        y = x * x
    assert log == [("p", [1.0, 2.0])] * 2
    y.backward(torch.ones(2, dtype=torch.float64))
    assert log[2:] == [("u", [1.0, 2.0])] * 2 and x.grad.tolist() == [2.0, 4.0]


PROGRAMS = [
    lambda x: x.exp(),
    lambda x: x * x / x.sin(),
    lambda x: x.softmax(0),
    lambda x: x[torch.tensor([1, 0, 1])],
    lambda x: torch.cat([x, x.tanh()]),
    lambda x: x.cumprod(0),
    lambda x: x.prod(),
    lambda x: x.max(0).values,
    lambda x: torch.einsum("i,j->ij", x, x.exp()),
    lambda x: torch.nn.functional.layer_norm(x * x, (2,), x),
    lambda x: (x * 1).sin_().mul_(x),
    lambda x: x.norm(),
    lambda x: x.diag(),
    lambda x: torch.linalg.eigh(torch.outer(x, x) + torch.diag(x)).eigenvalues,
    lambda x: x.sort().values ** 2,
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_gradients_of_all_orders_stay(x, number):
    program = PROGRAMS[number]

    def gradients():
        (first,) = torch.autograd.grad(program(x).sum(), x, create_graph=True)
        second = (
            torch.autograd.grad((first * first).sum(), x, allow_unused=True) if first.requires_grad else ()
        )
        return [first.tolist(), *[g if g is None else g.tolist() for g in second]]

    wanted = gradients()
    with G.saved_tensors_hooks(lambda t: t.numpy(force=True).copy(), torch.from_numpy):
        assert gradients() == wanted
    with G.save_on_cpu(pin_memory=True):
        assert gradients() == wanted


def test_custom_functions(x):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x**3
            ctx.save_for_backward(x, None, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, none, y = ctx.saved_tensors
            assert none is None
            return 3 * g * y / x

    log = _Log()
    with log.hooks():
        y = Cube.apply(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert [name for name, _ in log] == ["p", "p", "u", "u"] and g.tolist() == [3.0, 12.0]
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [6.0, 12.0]


def test_innermost_pair_and_only_this_thread(x):
    log = _Log()
    with log.hooks("outer"):
        with log.hooks("inner"):
            x.sin()
        x.sin()
        other = threading.Thread(target=x.sin)
        other.start()
        other.join()
    assert [name for name, _ in log] == ["inner", "outer"] and TRACES.record is None


def test_with_anomaly_mode(x):
    log = _Log()
    with log.hooks(), torch.autograd.set_detect_anomaly(True):
        y = x.exp()
    y.sum().backward()
    assert len(log) == 2 and TRACES.record is None


def test_anomaly_mode_shows_the_line_of_the_program(x):
    with torch.autograd.set_detect_anomaly(True), pytest.warns(UserWarning) as told:
        with pytest.raises(RuntimeError, match="'MulBackward0' returned nan values in its 0th output"):
            (x.detach().requires_grad_() * float("nan")).sum().backward()
    assert str(told[0].message).rstrip().splitlines()[-1].lstrip().startswith("(x.detach()")


def test_mistakes(x):
    with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
        with G.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
            x.exp()
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got result of type int"):
        with G.saved_tensors_hooks(lambda t: t, lambda t: 3):
            y = x.exp().sum()
        y.backward()
    with pytest.raises(TypeError, match="incompatible function arguments"):
        G.saved_tensors_hooks(1, 2).__enter__()
    with G.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"):
        G.save_on_cpu().__enter__()
    with G.save_on_cpu(), pytest.raises(RuntimeError, match="not here"):
        G.disable_saved_tensors_hooks("not here").__enter__()
    assert TRACES.record is None


def test_edges_stand_for_tensors(x):
    y = x * 2
    edge = G.get_gradient_edge(y)
    assert edge.node is y.grad_fn and edge.output_nr == 0 and isinstance(edge.node, G.Node)
    out = (y * y).sum()
    assert torch.autograd.grad(out, edge)[0].tolist() == [4.0, 8.0]
    torch.autograd.backward(edge, torch.ones(2))
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="does not require gradients"):
        G.get_gradient_edge(torch.ones(1))


@pytest.mark.parametrize(
    "reduce", [torch.sum, torch.mean, lambda t: t.sum(0), lambda t: t.mean(0, keepdim=True)]
)
def test_sums_keep_nothing(x, reduce):
    log = _Log()
    y = x * 1
    with log.hooks():
        total = reduce(y)
    y.add_(1)
    total.sum().backward()
    assert log == [] and x.grad.tolist() in ([1.0, 1.0], [0.5, 0.5])


@pytest.mark.parametrize("name", ["layer_norm", "batch_norm"])
def test_what_a_norm_gives_may_be_written_to(name):
    """Its gradient reads its operand and the moments."""

    def run(relu):
        x = torch.tensor([[1.0, 2, 3, 5], [2, 7, 1, 0], [3, 3, 1, 2]], requires_grad=True)
        norm = torch.nn.functional.layer_norm if name == "layer_norm" else torch.nn.functional.batch_norm
        found = norm(x, (4,)) if name == "layer_norm" else norm(x, None, None, training=True)
        relu(found).square().sum().backward()
        return x.grad

    assert torch.equal(run(torch.Tensor.relu_), run(torch.Tensor.relu))


def test_mutation_of_saved_tensors_copies_what_is_written_to():
    allowed = torch.autograd.graph.allow_mutation_on_saved_tensors
    with allowed() as context:
        a = torch.rand(2, 3, requires_grad=True)
        b = a.clone()
        first, second = b**2, b**2
        assert len(context.tid_to_weakhandle) == 1 and not context.cloned
        b[:1].sin_()
        assert len(context.cloned) == 1
        (first + second).sum().backward()
        assert torch.allclose(a.grad, 4 * a)
        b, other = torch.tensor([1.0]), torch.tensor([3.0], requires_grad=True)
        out = b * other
        torch.sin(torch.tensor([2.0]), out=b)
        out.backward()
        assert other.grad.tolist() == [1]
        late = (a**2).sum()
        with pytest.raises(RuntimeError, match="cannot be nested"):
            with allowed():
                pass
    with pytest.raises(AssertionError, match="Trying to backward outside"):
        late.backward()


@pytest.mark.parametrize(
    "op",
    [
        *[lambda x, mode=mode: torch.nn.functional.interpolate(x, scale_factor=2, mode=mode)
          for mode in ("nearest", "bilinear", "bicubic")],
        lambda x: torch.nn.functional.interpolate(x.repeat(1, 1, 64, 1), size=(512, 3), mode="bilinear"),
        lambda x: torch.nn.functional.affine_grid(x.reshape(2, 2, 3), [2, 1, 4, 4], align_corners=False),
        lambda x: torch.add(x, x, alpha=2),
        lambda x: torch.sub(x, x, alpha=2),
        lambda x: torch.lerp(x, x.detach(), 0.5),
    ],
)  # fmt: skip
def test_what_an_op_made_for_itself_is_not_freed(op):
    x = torch.arange(12.0).reshape(1, 1, 4, 3).requires_grad_()
    y = op(x)
    first = torch.autograd.grad(y, x, torch.ones_like(y))[0]
    assert torch.autograd.grad(y, x, torch.ones_like(y))[0].equal(first)
    y = op(x.exp())  # the caller's own nodes let go as ever
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_numbers_that_are_tensors_to_pytorch_are_freed(x):
    y = x * 2
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_an_operand_that_no_gradient_needs_may_be_written_to() -> None:
    weights, steps = torch.tensor([2.0, 3.0]), torch.zeros(3, 2)
    w = torch.ones(2, requires_grad=True)
    steps[0] = w * 2
    part = torch.einsum("j,jf->f", weights, steps[:2])
    steps[1] = w * 3  # after it was summed
    (part.sum() + steps.sum()).backward()
    assert w.grad is not None and w.grad.tolist() == [9.0, 9.0]
    held = steps.detach().clone().requires_grad_() * 1
    part = torch.einsum("ij,ij->", held, held)
    held.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        part.backward()


class _Anything(torch.autograd.Function):
    """Saves all that it is given."""

    @staticmethod
    def forward(ctx, other, x):
        ctx.save_for_backward(other, x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return None, grad


def test_what_no_graph_holds_may_be_saved_and_is_refused_elsewhere() -> None:
    x = torch.ones(2)
    assert _Anything.apply("a", x).tolist() == [2, 2]
    with torch.no_grad():
        assert _Anything.apply("a", x.clone().requires_grad_()).tolist() == [2, 2]
    with pytest.raises(TypeError, match="only save variables, but argument 0 is of type str"):
        _Anything.apply("a", x.clone().requires_grad_())


def test_a_checkpoint_may_run_again_where_all_gradients_are_wanted() -> None:
    seen = []
    x = torch.ones(2, requires_grad=True)

    def ask() -> torch.Tensor:
        y = x * 2
        y.register_hook(lambda grad: seen.append(torch.autograd._is_checkpoint_valid()))
        return y.sum()

    ask().backward()
    ask().backward(inputs=[x])
    torch.autograd.grad(ask(), x)
    assert [torch.autograd._is_checkpoint_valid(), *seen] == [True, True, False, False]


def test_what_is_saved_for_forward_is_an_attribute_too():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            assert ctx.saved_for_forward is None
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs, None)

        @staticmethod
        def jvp(ctx, tangent):
            x, nothing = ctx.saved_for_forward
            assert nothing is None and len(ctx.saved_tensors) == 2
            return 2 * x * tangent

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = torch.tensor([1.0, 2.0])
    found, moved = torch.func.jvp(Square.apply, (x,), (torch.ones(2),))
    assert found.tolist() == [1, 4] and moved.tolist() == [2, 4]
    x.requires_grad_()
    y = Square.apply(x)
    assert y.grad_fn.saved_for_forward[0] is x
    y.sum().backward()
    assert x.grad.tolist() == [2, 4]
    with pytest.raises(AssertionError, match="all arguments to be tensors"):
        y.grad_fn.save_for_forward(3)


def _squared(how: str) -> type[torch.autograd.Function]:
    """A Function that saves its result, which it makes in one way or another, and tells what it gets back."""

    class Squared(torch.autograd.Function):
        seen: list[tuple[bool, bool, int]] = []

        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> Any:
            if how == "dirty":
                x.mul_(2)
                ctx.mark_dirty(x)
                ctx.save_for_backward(x)
                return x
            if how == "handed through":
                ctx.save_for_backward(x)
                return x
            y = x * w
            sign = (x > 0).to(x.dtype)
            if how == "not differentiable":
                ctx.mark_non_differentiable(sign)
            ctx.save_for_backward(y if how == "result" else sign)
            return y, sign

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor, *more: torch.Tensor) -> Any:
            (kept,) = ctx.saved_tensors
            Squared.seen.append((kept.requires_grad, type(kept.grad_fn) is type(ctx), kept.output_nr))
            return grad * kept, grad * 2

    return Squared


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ("result", (True, True, 0)),
        ("dirty", (True, True, 0)),
        ("handed through", (True, False, 0)),
        ("not differentiable", (False, False, 0)),
        ("second", (True, True, 1)),
    ],
)
def test_a_saved_result_is_the_nodes_in_every_mode(
    how: str, wanted: tuple[bool, bool, int], create: bool, packed: bool
) -> None:
    # As PyTorch 2.13: also where backward is not recorded; and an input that is handed through is itself.
    function = _squared(how)
    x, w = torch.tensor([1.0, 3.0], requires_grad=True), torch.tensor([2.0, 5.0], requires_grad=True)
    hooks: Any = contextlib.nullcontext()
    if packed and how != "handed through":
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t)
    with hooks:
        out = function.apply(x * 1, w)
    out = out[0] if isinstance(out, tuple) else out
    torch.autograd.grad(out.sum(), (x, w), create_graph=create)
    assert function.seen == [wanted]  # type: ignore[attr-defined]


def test_gradients_of_gradients_by_an_input_that_is_handed_through() -> None:
    # The saved input is not the result: its gradient does not run the Function again.
    function = _squared("handed through")
    x, w = torch.tensor([1.0, 3.0], requires_grad=True), torch.tensor([2.0, 5.0], requires_grad=True)
    first = torch.autograd.grad(function.apply(x, w).sum(), (x, w), create_graph=True)
    second = torch.autograd.grad(first[0].sum() + first[1].sum(), (x, w), allow_unused=True)
    assert second[1] is None
    assert second[0] is not None and second[0].tolist() == [1.0, 1.0]
