"""Transforms by themselves: compositions, programs, custom Functions, dual numbers, errors that end levels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight import func, functorch as rushlight_functorch
from rushlight._engine.dispatch import interpreters
from rushlight.autograd import forward_ad, functional, gradcheck, gradgradcheck
from tests.func import programs

X = torch.from_numpy(np.linspace(-1.5, 2, 12).reshape(3, 4))
V = torch.from_numpy(np.cos(np.arange(12.0)).reshape(3, 4))


def same(got, expected, tolerance=1e-9):
    assert got.shape == expected.shape
    np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), tolerance, tolerance)


def f(x):
    return (x.sin() * x.cumsum(0)).prod() + torch.logsumexp(x, 0)


def test_directions_are_written_into_plain_tensors():
    def filled(x):
        out = torch.zeros(3, 2, dtype=x.dtype)
        out[0, 1] = x[0] ** 2
        row = out[1]
        row[:] = x[:2]
        out[2].copy_(x[2:])
        out[:, 1] += x[1]
        return out

    x = X[0]
    same(func.jacfwd(filled)(x), func.jacrev(filled)(x))

    def over(x, y):
        y.copy_(x)
        return y

    same(func.jacfwd(over)(x, x.clone()), torch.eye(4, dtype=x.dtype))


def test_one_row_at_a_time_nothing_is_mapped():
    class Looks(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            assert len(grad.nonzero()) == 1
            return grad * 2

    same(func.jacrev(Looks.apply, chunk_size=1)(X[0]), 2 * torch.eye(4, dtype=X.dtype))


def test_results_that_are_nothing_are_told():
    for nothing in (None, ()):
        for transform in (func.jacrev, func.jacfwd):
            with pytest.raises(RuntimeError, match="Expected f to be a function that has non-empty output"):
                transform(lambda x, nothing=nothing: nothing)(X)


def test_second_derivatives_agree():
    x, v = X[0], V[0]
    h = func.hessian(f)(x)
    for other in (
        func.jacrev(func.jacrev(f)),
        func.jacfwd(func.jacfwd(f)),
        func.jacrev(func.jacfwd(f)),
        lambda x: functional.hessian(f, x),
        lambda x: functional.hessian(f, x, vectorize=True),
    ):
        same(other(x), h)
    same(func.jvp(func.grad(f), (x,), (v,))[1], h @ v)
    same(func.grad(lambda x: func.jvp(f, (x,), (v,))[1])(x), h @ v)
    same(func.vjp(func.grad(f), x)[1](v)[0], h @ v)
    same(functional.hvp(f, x, v)[1], h @ v)
    same(functional.vhp(f, x, v)[1], h @ v)
    same(func.vmap(func.hessian(f))(X), torch.stack([func.hessian(f)(row) for row in X]))
    same(
        func.hessian(lambda x: func.vmap(f)(x).sum())(X).sum((0, 2)),
        torch.stack([func.hessian(f)(row) for row in X]).sum(0),
    )


def test_third_derivative():
    cube = func.grad(func.grad(func.grad(lambda x: x**4)))
    assert cube(torch.tensor(2.0)).item() == 48
    assert func.vmap(cube)(torch.tensor([1.0, 2.0])).tolist() == [24, 48]


def test_vmap_of_a_gradient_by_what_is_shared():
    """A tensor that all examples share has a gradient for each."""
    w = V[0]
    each = func.vmap(func.grad(lambda w, x: (x @ w).sin()), in_dims=(None, 0))(w, X)
    same(each, (X @ w).cos()[:, None] * X)


def test_gradient_through_transforms():
    x = X[0].clone().requires_grad_()
    func.grad(f)(x).pow(2).sum().backward()
    same(x.grad, 2 * func.hessian(f)(X[0]) @ func.grad(f)(X[0]))
    assert not func.grad(f)(X[0]).requires_grad


def test_program_is_a_loop():
    for got, expected in zip(
        programs.per_sample_gradients(torch), programs.per_sample_gradients_by_hand(torch)
    ):
        same(got, expected, 1e-4)
    each, _, expected = programs.ensembling(torch)
    same(each, expected, 1e-5)


@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda p: p.__name__)
def test_programs_run(program):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(bool(t.isfinite().all()) for t in program(torch))


class Scaled(torch.autograd.Function):
    """(x * w).sum(-1); with its own backward and jvp."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, w):
        return (x * w).sum(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g.unsqueeze(-1) * w, g.unsqueeze(-1) * x

    @staticmethod
    def jvp(ctx, tx, tw):
        x, w = ctx.saved_tensors
        return (tx * w + x * tw).sum(-1)


class ByHand(Scaled):
    """The same with a vmap of its own."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x, w):
        assert info.batch_size == 3 and in_dims == (0, None)
        return x @ w, 0


def test_vmap_of_a_custom_function_gets_batches_as_the_caller_has_them():
    class Told(ByHand):
        @staticmethod
        def vmap(info, in_dims, x, w):
            told.append((in_dims, x.shape, w.stride()))
            x, w = (t if d is None else t.movedim(d, 0) for t, d in zip((x, w), in_dims, strict=True))
            return (x * w).sum(-1), 0

    told = []
    got = func.vmap(Told.apply, (1, -1))(X, X)
    same(got, (X * X).sum(0))
    func.vmap(lambda x, w: Told.apply(x * 1.0, w), (0, 1))(X.t(), X)
    func.vmap(Told.apply, (1, None))(X, X[:, 0])
    assert told == [
        ((1, 1), (3, 4), (4, 1)),
        ((0, 1), (4, 3), (4, 1)),
        ((1, None), (3, 4), (4,)),
    ]


def test_reverse_mode_refuses_hooks_of_saved_tensors():
    def hooked(x):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return x.sin().sum()

    match = r"torch.func.\{grad, vjp, jacrev, hessian\} don't yet support saved tensor hooks"
    calls = [
        lambda: func.grad(hooked)(X),
        lambda: func.vjp(hooked, X),
        lambda: func.jacrev(hooked)(X),
        lambda: func.vmap(func.grad(hooked))(X),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match=match):
            call()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        with pytest.raises(RuntimeError, match=match):
            func.grad(lambda x: x.sin().sum())(X)
        # What is no transform of the program's own lets them be.
        ones = torch.ones(1, 1, 2, 2)
        assert torch.equal(torch.nn.grad.conv2d_weight(ones, (1, 1, 1, 1), ones).view(()), torch.tensor(4.0))
    with (
        torch.autograd.graph.disable_saved_tensors_hooks("mine"),
        pytest.raises(RuntimeError, match="mine"),
    ):
        hooked(X)
    hooked(X)  # nothing of it is left
    same(func.vmap(hooked)(X), X.sin().sum(-1))
    same(func.jvp(hooked, (X,), (V,))[1], (X.cos() * V).sum())


def test_graphs_of_leaves_are_refused_inside_transforms():
    def product(x):
        return functional.vjp(lambda t: (t**3).sum(), x)[1].sum()

    def slope(x):
        return functional.jacobian(torch.sin, torch.ones(2)).sum() + x.sum()

    def kept(x):
        x.sin().retain_grad()
        return x.sum()

    tests = [(product, "requires_grad_"), (slope, "requires_grad_"), (kept, "retain_grad")]
    for function, word in tests:
        match = rf"attempting to call Tensor.{word}\(\).* inside of a function being transformed"
        with pytest.raises(RuntimeError, match=match):
            func.grad(function)(X)
        with pytest.raises(RuntimeError, match=match):
            func.vjp(function, X)
    for function in (product, slope):
        for call in (func.vmap(function), func.jacfwd(function), func.functionalize(function)):
            with pytest.raises(RuntimeError, match="perhaps using torch.autograd.functional"):
                call(X)
        function(X)  # nothing of it is left
    # With a graph of the input's own there is no leaf.
    got = func.grad(lambda x: functional.jacobian(torch.sin, x, create_graph=True).sum())(V[0])
    same(got, -V[0].sin())


def test_inputs_of_a_transform_require_grad_already():
    def function(x):
        x.requires_grad = True
        return x.sin().sum()

    same(func.grad(function)(X), X.cos())
    with pytest.raises(RuntimeError, match="attempting to call Tensor.requires_grad_"):
        func.grad(lambda x: x.requires_grad_(False).sum())(X)


def test_backward_is_refused_inside_transforms_and_not_in_a_pull():
    def alone(g):
        with torch.enable_grad():
            leaf = torch.ones(3, requires_grad=True)
            leaf.exp().sum().backward()
        return g * leaf.grad.sum() / torch.e

    class Backwards(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return alone(g)

    match = r"backward\(\) called inside a functorch transform"
    for call in (
        lambda: func.vmap(alone)(X),
        lambda: func.functionalize(alone)(X),
        lambda: func.grad(lambda x: Backwards.apply(x).sum())(X),
    ):
        with pytest.raises(RuntimeError, match=match):
            call()
    same(func.vjp(Backwards.apply, X)[1](V)[0], 3 * V, 1e-6)


class Inner(torch.autograd.Function):
    """Differentiates inside of its forward, which is below the transform that has its backward."""

    @staticmethod
    def forward(x):
        return functional.vjp(torch.sin, x, torch.ones_like(x))[1]

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return -g * ctx.saved_tensors[0].sin()

    @staticmethod
    def vmap(info, in_dims, x):
        return functional.vjp(torch.sin, x, torch.ones_like(x))[1], in_dims[0]


def test_forward_of_a_function_is_below_the_transform():
    same(func.grad(lambda x: Inner.apply(x).sum())(X), -X.sin())
    same(func.vmap(Inner.apply, 1, 1)(X), X.cos())


def test_custom_functions():
    x, w = X, V[0]

    def plain(x, w):
        return (x * w).sum(-1)

    for of in (Scaled, ByHand):
        same(func.vmap(of.apply, in_dims=(0, None))(x, w), x @ w)
    for got, expected in zip(
        func.vmap(func.grad(Scaled.apply, (0, 1)), in_dims=(0, None))(x, w),
        func.vmap(func.grad(plain, (0, 1)), in_dims=(0, None))(x, w),
    ):
        same(got, expected)
    for how in (func.jacrev, func.jacfwd, lambda f, n: func.hessian(lambda *a: f(*a).pow(2).sum(), n)):
        same(how(Scaled.apply, 1)(x, w), how(plain, 1)(x, w))

    class Neither(Scaled):
        generate_vmap_rule = False

    with pytest.raises(RuntimeError, match="does not have vmap support"):
        func.vmap(Neither.apply, in_dims=(0, None))(x, w)


def test_gradients_fit_a_functions_inputs():
    x, w = X.clone().requires_grad_(), V[0].clone().requires_grad_()
    Scaled.apply(x, w).sum().backward()
    same(w.grad, X.sum(0))

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g[0]

    with pytest.raises(RuntimeError, match="invalid gradient at index 0"):
        Wrong.apply(x).sum().backward()


def test_dual_numbers():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X, V)
        primal, tangent = forward_ad.unpack_dual(dual.sin() * dual)
        same(primal, X.sin() * X)
        same(tangent, (X.cos() * X + X.sin()) * V)
        buffer = torch.zeros(3, 4, dtype=torch.float64)
        buffer[1] = dual[0] * 2
        buffer.mul_(3)
        same(forward_ad.unpack_dual(buffer).tangent[1], 6 * V[0])
        w = X.clone().requires_grad_()
        directional = forward_ad.unpack_dual((w * dual).sin().sum()).tangent
        same(torch.autograd.grad(directional, w)[0], V * ((X * X).cos() - X * X * (X * X).sin()))
        with pytest.raises(RuntimeError, match="Nested"):
            forward_ad.enter_dual_level()
    assert forward_ad.unpack_dual(dual).tangent is None
    same(dual * 2, X * 2)
    with pytest.raises(RuntimeError, match="no dual level"):
        forward_ad.make_dual(X, V)


def test_writes_under_vmap():
    def run(x):
        out = torch.zeros_like(x)
        out[1:] = x[:-1]
        out[0] += 3
        out.mul_(x)
        out.view(2, 2)[0, 1] = 7
        return out

    same(func.vmap(run)(X), torch.stack([run(row) for row in X]))
    x = X.clone().requires_grad_()
    func.vmap(run)(x).cos().sum().backward()
    y = X.clone().requires_grad_()
    torch.stack([run(row) for row in y]).cos().sum().backward()
    same(x.grad, y.grad)


def test_indices_under_vmap():
    i = torch.tensor([[0, 3], [1, 1], [2, 0]])
    for run in (
        lambda x, i: x[i],
        lambda x, i: x[i[0]],
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.view(2, 2)[:, i % 2],
        lambda x, i: x.view(2, 2)[i % 2, i % 2],
        lambda x, i: x[..., 1],
        lambda x, i: x.index_put((i,), x[:2]),
        lambda x, i: x.view(2, 2)[None, :, i % 2],
    ):
        same(func.vmap(run)(X, i), torch.stack([run(x, j) for x, j in zip(X, i)]))
        same(func.vmap(run, (None, 0))(X[0], i), torch.stack([run(X[0], j) for j in i]))
        same(func.vmap(run, (0, None))(X, i[0]), torch.stack([run(x, i[0]) for x in X]))


def test_a_level_ends_with_an_error():
    escaped = []
    with pytest.raises(ZeroDivisionError):
        func.vmap(lambda x: (escaped.append(x), 1 / 0))(X)
    assert not interpreters.MODES and not interpreters.STACK.modes
    with pytest.raises(RuntimeError, match="outside the vmap"):
        escaped[0] + 1


def test_a_singular_example_is_found():
    with pytest.raises(RuntimeError, match="Batch element 1"):
        torch.vmap(torch.linalg.inv)(torch.stack([torch.eye(2), torch.zeros(2, 2)]))


def test_randomness():
    def draw(x):
        return torch.rand(5), torch.nn.functional.dropout(torch.ones(50))

    torch.manual_seed(0)
    for rows in func.vmap(draw, randomness="different")(X):
        assert not torch.equal(rows[0], rows[1])
    for rows in func.vmap(draw, randomness="same")(X):
        assert torch.equal(rows[0], rows[1])


def test_batched_gradients():
    x = X[0].clone().requires_grad_()
    y = x.sin()
    rows = torch.autograd.grad(y, x, torch.eye(4, dtype=torch.float64), is_grads_batched=True)[0]
    same(rows, X[0].cos().diag())


def test_jacobians_of_results_with_structure():
    def of(a, b):
        return {"sum": a["x"] + b, "all": (a["x"] * b).sum()}

    a, b = {"x": X[0]}, V[0]
    for how in (func.jacrev, func.jacfwd):
        found = how(of, (0, 1))(a, b)
        same(found["sum"][0]["x"], torch.eye(4, dtype=torch.float64))
        same(found["all"][1], X[0])


def test_second_gradient_of_an_index_behind_slices():
    x = X.clone().requires_grad_()
    assert gradgradcheck(lambda x: x[:, torch.tensor([1, 1, 3])].sin(), (x,))


def test_gradcheck_of_complex_functions():
    z = torch.complex(X[0], V[0]).requires_grad_()
    for of in (
        lambda z: z * z.conj(),
        lambda z: z * z.real,
        lambda z: z.abs(),
        lambda z: z.conj(),
        lambda z: z**2,
    ):
        assert gradcheck(of, (z,), check_forward_ad=True)

    class Bad(Scaled):
        @staticmethod
        def jvp(ctx, tx, tw):
            return 2 * Scaled.jvp(ctx, tx, tw)

    with pytest.raises(RuntimeError, match="forward mode"):
        gradcheck(Bad.apply, (X.clone().requires_grad_(), V[0]), check_forward_ad=True)


@pytest.mark.parametrize(
    ("op", "again"),
    [
        (lambda x: x + 1, True),
        (lambda x: -x, True),
        (lambda x: x.view(12), True),
        (lambda x: x.float(), True),
        (lambda x: x[0], True),
        (lambda x: x.sum(0), True),
        (lambda x: x * 2, False),
        (lambda x: x * x, False),
        (lambda x: x.exp(), False),
        (lambda x: x[torch.tensor([0])], False),
        (lambda x: x.clone()[0].zero_(), False),
    ],
)
def test_only_what_was_saved_is_freed(op, again):
    """Two walks through a shared node raise where it saved a tensor."""
    shared = op(X.clone().requires_grad_())
    first, second = shared.sum(), (shared * 2).sum()
    first.backward()
    if again:
        second.backward()
        return
    with pytest.raises(RuntimeError, match="second time"):
        second.backward()


def test_data_is_refused_under_vmap() -> None:
    with pytest.raises(RuntimeError, match="accessing `data` under vmap transform is not allowed"):
        torch.func.vmap(lambda x: x.data * 2)(torch.ones(3, 2))


def test_results_and_arguments_that_are_refused():
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="must be non-empty"):
        torch.func.grad(torch.sum, argnums=())(x)
    for transform in (torch.func.jacrev, torch.func.jacfwd):
        with pytest.raises(RuntimeError, match="non-empty output"):
            transform(lambda a: ())(x)
        with pytest.raises(RuntimeError, match="Expected all inputs to be real"):
            transform(torch.conj)(torch.ones(1, dtype=torch.complex64))
    with pytest.raises(RuntimeError, match="Expected tensors, got unsupported type <class 'str'>"):
        torch.func.grad(lambda a: (a.sum(), "aux"), has_aux=True)(x)
    with pytest.warns(FutureWarning, match="Please use `torch.func.grad` instead"):
        rushlight_functorch.grad(torch.sum)


def test_functionalize_keeps_results_and_writes():
    def func(x):
        y = x.clone()
        y.view(-1).add_(1)
        x.mul_(2)
        return y

    x = torch.ones(2, 2)
    assert torch.equal(torch.func.functionalize(func)(x), torch.full((2, 2), 2.0)) and x[0, 0] == 2
    with pytest.raises(RuntimeError, match="invalid argument for `remove`"):
        torch.func.functionalize(func, remove="all")


def test_tied_parameters_stay_tied_without_state():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = self.second = torch.nn.Linear(2, 2)
            self.register_buffer("shift", torch.ones(2))
            self.again = self.shift

        def forward(self, x):
            return self.second(self.first(x)) + self.again

    from rushlight.functorch import make_functional_with_buffers

    model = Tied()
    function, params, buffers = make_functional_with_buffers(model)
    assert len(params) == 2 and torch.allclose(function(params, buffers, torch.ones(2)), model(torch.ones(2)))


def test_what_a_functions_vmap_may_give():
    class Wrong(torch.autograd.Function):
        generate_vmap_rule = False

        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            return Wrong.found(x)

    for found, words in (
        (lambda x: x, "to have two returns"),
        (lambda x: (x, (0, 0)), "returned an incompatible"),
    ):
        Wrong.found = found
        with pytest.raises(RuntimeError, match=words):
            torch.vmap(Wrong.apply)(torch.ones(2, 3))


@pytest.mark.parametrize(
    "function",
    [torch.floor, torch.sign, torch.round, torch.trunc, torch.bernoulli, torch.poisson]
    + [lambda x: torch.normal(x, 1.0), lambda x: torch.normal(0.0, x)],
)
def test_what_does_not_move_has_zeros_as_its_tangent(function):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.rand(3), torch.ones(3))
        assert forward_ad.unpack_dual(function(x)).tangent.tolist() == [0.0, 0.0, 0.0]


def test_cat_with_an_empty_vector_keeps_its_gradient():
    def joined(*tensors):
        return torch.cat(tensors)

    empty = torch.rand(0, requires_grad=True)
    found = func.vmap(joined, in_dims=(None, 0, 0))(empty, torch.rand(3, 2), torch.rand(3, 0))
    assert found.requires_grad and found.shape == (3, 2)
    found.sum().backward()
    assert empty.grad.shape == (0,)
    assert func.vmap(joined, in_dims=(None, 0))(empty, torch.rand(3, 0)).requires_grad


@pytest.mark.parametrize(
    ("size", "stride", "each"), [([2, 3, 5], [0, 5, 1], 15), ([2, 3, 4], [2, 4, 6], 29), ([0, 2], [4, 1], 0)]
)
def test_new_empty_strided_keeps_the_strides_of_an_example(size, stride, each):
    def made(x):
        return x.new_empty_strided(size, stride)

    assert func.vmap(made)(torch.ones(7)).stride() == (each, *stride)
    assert func.vmap(func.vmap(made), in_dims=1)(torch.ones(11, 7)).stride() == (11 * each, each, *stride)


def test_draws_by_operands_of_several_ranks():
    given = torch.tensor([[0.1, 0.9, 0.3], [0.5, 0.5, 0.2]])
    draw = torch.func.vmap(lambda x: torch.normal(torch.zeros(3), torch.ones(())), randomness="different")
    torch.manual_seed(0)
    found = draw(given)
    torch.manual_seed(0)
    assert torch.equal(found, torch.normal(torch.zeros(2, 3), 1.0))


def test_the_same_draws_by_values_that_are_batched_only_to_be_differentiated():
    x, w, v = torch.arange(6.0).view(3, 2), torch.ones(2, 2), torch.arange(16.0).view(4, 2, 2)
    inner = torch.func.vmap(
        lambda p: p.softmax(0).multinomial(2, replacement=True).float(), randomness="different"
    )

    def loss(w):
        out = x @ w
        return (out * inner(out.detach())).sum()

    def directional(tangent):
        return torch.func.jvp(torch.func.grad(loss), (w,), (tangent,))[1]

    assert torch.func.vmap(directional, randomness="same")(v).eq(0).all()
    with pytest.raises(RuntimeError, match="does not currently support same randomness with a batched"):
        torch.func.vmap(torch.bernoulli, randomness="same")(torch.tensor([[0.1], [0.9]]))


def test_programs_put_their_own_way_of_entering_vmap_in_place(monkeypatch):
    vmapping = torch.func.vmapping
    entered, own = [], vmapping._add_batch_dim

    def listening(tensor, in_dim, level):
        entered.append(in_dim)
        return own(tensor, in_dim, level)

    monkeypatch.setattr(vmapping, "_add_batch_dim", listening)
    assert torch.func.vmap(torch.sum, in_dims=1)(torch.ones(2, 3)).tolist() == [2.0] * 3 and entered == [1]


def test_views_of_other_dtypes_are_of_each_example():
    x = torch.arange(6.0).reshape(2, 3)
    bits = x.view(torch.int32)
    assert torch.equal(torch.vmap(lambda a: a.view(torch.int32))(x), bits)
    assert torch.equal(torch.vmap(lambda a: a.view(torch.int32), in_dims=1)(x), bits.T)
    assert torch.equal(torch.vmap(torch.vmap(lambda a: a.view(torch.int32)))(x), bits)
    assert torch.equal(torch.vmap(lambda a: a.view(torch.int16))(x), x.view(torch.int16))
    with pytest.raises(RuntimeError, match="cannot be 0 to view"):
        torch.vmap(lambda a: a.view(torch.int16))(x[0])

    def derivative(a):
        found, tangent = torch.func.jvp(lambda a: a.view(torch.int32).view(torch.float32), (a,), (a,))
        return found, tangent

    assert [t.tolist() for t in torch.vmap(derivative)(x)] == [x.tolist(), [[0.0] * 3] * 2]
