"""Compiled calls whose ops look at values to know what to compute: other values give what eager gives."""

import math
import re

import pytest

import rushlight as torch
from rushlight.nn import functional as F

INF = float("inf")
T = torch.tensor


def gradients(function):
    """The function's gradients, as a function."""

    def call(*args):
        own = [t.detach().clone().requires_grad_(t.is_floating_point()) for t in args]
        function(*own).sum().backward()
        return [t.grad for t in own if t.grad is not None]

    return call


def _bag(indices, offsets):
    return F.embedding_bag(indices, torch.arange(15.0).view(5, 3), offsets) * 1


def _best_of_bag(indices, offsets, weight):
    return F.embedding_bag(indices, weight, offsets, mode="max") * 1


def _renormed(indices, weight):
    return F.embedding(indices, weight.clone(), max_norm=0.1) * 1


MATRIX = torch.arange(16.0).view(4, 4).sin()
WEIGHT = torch.arange(15.0).view(5, 3).cos()
# name: (function, arguments that it is recorded with, others of the same shapes).
CASES = {
    "nonzero": (lambda x: torch.nonzero(x) * 2, [T([1.0, 1.0])], [T([0.0, 1.0])]),
    "where": (lambda x: torch.where(x > 0)[0] * 2, [T([1.0, 1.0])], [T([0.0, 1.0])]),
    "argwhere": (lambda x: torch.argwhere(x) * 2, [T([1.0, 1.0])], [T([0.0, 1.0])]),
    "to_sparse": (lambda x: x.to_sparse().to_dense() * 2, [T([1.0, 0.0])], [T([0.0, 1.0])]),
    "one_hot": (lambda n: F.one_hot(n) * 2, [T([1, 2])], [T([3, 1])]),
    "one_hot of five": (lambda n: F.one_hot(n, 5) * 2, [T([1, 2])], [T([3, 4])]),
    "repeat_interleave": (
        lambda x, n: torch.repeat_interleave(x, n) * 2,
        [T([1.0, 2.0]), T([1, 2])],
        [T([1.0, 2.0]), T([2, 1])],
    ),
    "positions": (lambda n: torch.repeat_interleave(n) * 2, [T([1, 2])], [T([2, 1])]),
    "index": (lambda x, i: x[i] * 1, [WEIGHT, T(1)], [WEIGHT, T(2)]),
    "column": (lambda x, i: x[:, i] * 1, [WEIGHT, T(1)], [WEIGHT, T(2)]),
    "slice": (lambda x, i: x[i:] * 1, [WEIGHT, T(1)], [WEIGHT, T(2)]),
    "set": (
        lambda x, i: x.clone().index_put((i,), T(0.0)) + x.clone()[i],
        [WEIGHT, T(1)],
        [WEIGHT, T(2)],
    ),
    "index_select": (lambda x, i: x.index_select(0, i) * 2, [T(1.0), T([0])], [T(2.0), T([0])]),
    "view_as_real": (lambda x: torch.view_as_real(torch.complex(x, x + 1).t()), [MATRIX], [MATRIX + 1]),
    "stft": (
        lambda x: torch.stft(x, 10, return_complex=False),
        [torch.arange(40.0)],
        [torch.arange(40.0).sin()],
    ),
    "take_along_dim": (
        lambda x, i: torch.take_along_dim(x, i, 1) * 1,
        [WEIGHT, T([[0], [1], [2], [0], [1]])],
        [WEIGHT, T([[-1], [1], [-2], [0], [2]])],
    ),
    "flip of a number": (lambda x: x.flip(()) * 2, [T(1.0)], [T(2.0)]),
    "pinv of nothing'": (
        gradients(lambda a, b: torch.linalg.pinv(a @ b.mT)),
        [torch.ones(2, 0), torch.ones(2, 0)],
        [torch.zeros(2, 0), torch.zeros(2, 0)],
    ),
    "matrix_exp": (torch.matrix_exp, [MATRIX * 0.01], [MATRIX * 5]),
    "histogram": (lambda x: torch.histogram(x, 3)[0], [T([1.0, 2.0, 3.0])], [T([0.0, 0.0, 10.0])]),
    "embedding_bag": (_bag, [T([0, 1, 2, 3]), T([0, 2])], [T([0, 1, 2, 3]), T([0, 1])]),
    "renorm": (_renormed, [T([0]), WEIGHT * 0.01], [T([3]), WEIGHT]),
    "tensor_split": (
        lambda x, cuts: torch.tensor_split(x, cuts)[0] * 1,
        [T([1.0, 2.0, 3.0]), T([1])],
        [T([1.0, 2.0, 3.0]), T([2])],
    ),
    "cumprod'": (gradients(lambda x: x.cumprod(0)), [T([1.0, 2.0, 3.0])], [T([1.0, 0.0, 3.0])]),
    "prod'": (gradients(lambda x: x.prod()), [T([1.0, 2.0, 3.0])], [T([1.0, 0.0, 3.0])]),
    "prod of a dim'": (gradients(lambda x: x.prod(0)), [T([1.0, 2.0, 3.0])], [T([1.0, 0.0, 3.0])]),
    "det'": (gradients(torch.linalg.det), [torch.eye(3) * 2], [torch.zeros(3, 3)]),
    "embedding_bag's maximum'": (
        gradients(_best_of_bag),
        [T([0, 1, 2, 3]), T([0, 2]), WEIGHT],
        [T([0, 4, 2, 3]), T([0, 1]), WEIGHT],
    ),
    "attention": (
        gradients(lambda mask: F.scaled_dot_product_attention(MATRIX, MATRIX, MATRIX, attn_mask=mask)),
        [torch.zeros(4, 4)],
        [torch.full((4, 4), -INF)],
    ),
}


@pytest.mark.parametrize("how", [{}, {"mode": "reduce-overhead"}], ids=["default", "reduce-overhead"])
@pytest.mark.parametrize("name", CASES)
def test_other_values_give_what_eager_gives(name, how):
    function, first, then = CASES[name]
    compiled = torch.compile(function, **how)
    for args in [first] * 5 + [then] * 3 + [first]:
        torch.testing.assert_close(compiled(*args), function(*args), equal_nan=True)


def test_shapes_that_numbers_tell_stay_in_the_graph():
    values = T([1, 2])
    for function in (
        lambda n: F.one_hot(n, 5) * 2,
        lambda n: torch.histc(n.float(), 4, 0, 4) * 2,
        lambda n: torch.nonzero_static(n, size=3) * 2,
    ):
        found = torch._dynamo.explain(function)(values)
        assert (found.graph_count, found.graph_break_count) == (1, 0)
    assert not torch._dynamo.explain(lambda n: F.one_hot(n) * 2)(values).graph_count


# name: (function, arguments that it is recorded with, others that eager refuses).
REFUSED = {
    "one_hot of three": (lambda n: F.one_hot(n, 3) * 2, [T([1, 2])], [T([1, 3])]),
    "cholesky": (torch.cholesky, [torch.eye(3)], [-torch.eye(3)]),
    "linalg.cholesky": (lambda x: torch.linalg.cholesky(x) * 2, [torch.eye(3)], [-torch.eye(3)]),
    "inv": (torch.linalg.inv, [torch.eye(3)], [torch.zeros(3, 3)]),
    "eigvals": (lambda x: torch.linalg.eigvals(x) * 1, [torch.eye(3)], [torch.eye(3) * math.nan]),
    "binary_cross_entropy": (F.binary_cross_entropy, [T([0.5]), T([1.0])], [T([1.5]), T([1.0])]),
    "quantile": (lambda x, q: torch.quantile(x, q) * 1, [T([1.0, 2.0]), T(0.5)], [T([1.0, 2.0]), T(1.5)]),
    "cov": (
        lambda x, w: torch.cov(x, aweights=w) * 1,
        [MATRIX, T([1.0, 2.0, 3.0, 4.0])],
        [MATRIX, -T([1.0, 2.0, 3.0, 4.0])],
    ),
}


@pytest.mark.parametrize("how", [{}, {"mode": "reduce-overhead"}], ids=["default", "reduce-overhead"])
@pytest.mark.parametrize("name", REFUSED)
def test_values_that_eager_refuses_are_refused(name, how):
    function, first, then = REFUSED[name]
    with pytest.raises(RuntimeError) as refusal:
        function(*then)
    compiled = torch.compile(function, **how)
    for _ in range(4):
        torch.testing.assert_close(compiled(*first), function(*first))
    for _ in range(2):
        with pytest.raises(type(refusal.value), match=re.escape(str(refusal.value))):
            compiled(*then)
        torch.testing.assert_close(compiled(*first), function(*first))


def test_matched_segments_of_a_backend_follow_values():
    function, first, then = CASES["tensor_split"]
    compiled = torch.compile(function, backend=lambda module, inputs: module.forward)
    for args in [first] * 4 + [then] * 2:
        assert torch.equal(compiled(*args), function(*args))


class Cut(torch.nn.Module):
    def forward(self, x, i):
        return x[i] * 1, x[1:, i] + 1, x[..., i] * 2, x[i, i] - 1


def test_an_exported_program_takes_other_places():
    program = torch.export.export(Cut(), (MATRIX, T(1)))
    for place in (0, 1, 3):
        torch.testing.assert_close(program.module()(MATRIX, T(place)), Cut()(MATRIX, T(place)))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: x * i.item(),
        lambda x, i: x if i > 0 else -x,
        lambda x, i: x[i],
        lambda x, i: x[int(i + 1) :],
    ],
)
def test_make_fx_holds_no_number_of_an_argument(function):
    from rushlight.fx.experimental.proxy_tensor import make_fx

    with pytest.raises(RuntimeError, match="trying to get value out of a tracing tensor"):
        make_fx(function)(WEIGHT, T(1))
    graph = make_fx(function, _error_on_data_dependent_ops=False)(WEIGHT, T(1))
    assert torch.equal(graph(WEIGHT, T(1)), function(WEIGHT, T(1)))
    known = make_fx(lambda x: x * torch.tensor(3).item())(WEIGHT)
    assert torch.equal(known(WEIGHT), WEIGHT * 3)


def test_make_fx_records_what_backward_leaves():
    from rushlight.fx.experimental.proxy_tensor import make_fx

    def step(x, y):
        x = x.detach().requires_grad_()
        (x * y).abs().sum().backward()
        (x * 2).sum().backward()
        return x.grad

    graph = make_fx(step)(T([1.0, 2.0]), T([1.0, 3.0]))
    others = T([-1.0, 2.0]), T([5.0, -3.0])
    assert torch.equal(graph(*others), step(*others))


# Ops that are made of others here: what their gradients need of these is in the graph, too.
COMPOSITES = {
    "addr": (torch.addr, [(2, 3), (2,), (3,)]),
    "std": (lambda x: x.std(0), [(3, 2)]),
    "std of all": (lambda x: x.std(False), [(3, 2)]),
    "glu": (F.glu, [(2, 4)]),
    "dist": (torch.dist, [(3,), (3,)]),
    "layer_norm": (lambda x: F.layer_norm(x, (3,)), [(2, 3)]),
    "binary_cross_entropy_with_logits": (F.binary_cross_entropy_with_logits, [(3,), (3,)]),
    "cross": (torch.linalg.cross, [(2, 3), (2, 3)]),
    "renorm": (lambda x: torch.renorm(x, 2, 0, 0.5), [(2, 3)]),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), [(1, 1, 2, 2)]),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_make_fx_records_gradients_of_composites(name):
    from rushlight.fx.experimental.proxy_tensor import make_fx

    function, sizes = COMPOSITES[name]

    def step(*args):
        own = [t.detach().requires_grad_() for t in args]
        function(*own).abs().sum().backward()
        return [t.grad for t in own]

    graph = make_fx(step)(*[torch.randn(size) for size in sizes])
    others = [torch.randn(size) for size in sizes]
    torch.testing.assert_close(graph(*others), step(*others))


@pytest.mark.parametrize("dim", [None, 0, -1])
def test_make_fx_repeats_by_other_numbers(dim):
    from rushlight.fx.experimental.proxy_tensor import make_fx

    def repeated(x, n):
        return torch.repeat_interleave(x, n, dim)

    x = torch.arange(4.0) if dim is None else torch.arange(8.0).view(4, 2) if dim == 0 else MATRIX
    graph = make_fx(repeated)(x, T([1, 2, 0, 1]))
    assert torch.equal(graph(x, T([2, 0, 3, 1])), repeated(x, T([2, 0, 3, 1])))


def test_the_gradient_of_prod_has_eagers_bits() -> None:
    compiled = torch.compile(lambda x, g: torch.autograd.grad(x.prod(0, keepdim=True), x, g)[0])
    for _ in range(40):
        x, g = torch.randn(3, 4, dtype=torch.float64, requires_grad=True), torch.randn(1, 4).double()
        assert torch.equal(compiled(x, g), torch.autograd.grad(x.prod(0, keepdim=True), x, g)[0])


@pytest.mark.parametrize(("inner", "outer"), [(4, 0), (0, 4), (0, 0)])
def test_layers_of_no_rows(inner: int, outer: int) -> None:
    layer = torch.nn.Linear(inner, outer)
    compiled, x = torch.compile(layer), torch.randn(3, inner)
    for _ in range(4):
        assert compiled(x).equal(layer(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.nn.functional.leaky_relu(x, 0.0) * 2,
        lambda x: torch.nn.functional.elu(x, 0.0) + 1,
        lambda x: torch.add(x, x.exp(), alpha=0.0).neg(),
        lambda x: torch.threshold(x, 0.0, 0.0) - x * 0.0,
    ],
)
def test_a_number_that_is_zero_keeps_signs_and_infinities(function):
    compiled = torch.compile(function)
    x = torch.tensor([-1.0, 2.0, -0.0, 0.0, torch.inf, -torch.inf, torch.nan])
    for _ in range(4):
        found, wanted = compiled(x), function(x)
        assert found.numpy().tobytes() == wanted.numpy().tobytes()
    assert next(iter(compiled._runner.plans.values())).ready


def test_repeats_whose_number_is_told_are_part_of_a_program():
    compiled = torch.compile(lambda x, n: (x * 2).repeat_interleave(n, 0, output_size=5).tanh())
    x = torch.randn(3, 2)
    for n in ([1, 2, 2], [3, 0, 2], [5, 0, 0], [0, 4, 1]):
        n = torch.tensor(n)
        assert torch.equal(compiled(x, n), (x * 2).repeat_interleave(n, 0).tanh())
    assert next(iter(compiled._runner.plans.values())).ready
    with pytest.raises(RuntimeError, match="allocated size does not match required size, got 5 and 6"):
        compiled(x, torch.tensor([2, 2, 2]))
    assert torch.equal(compiled(x, n), (x * 2).repeat_interleave(n, 0).tanh())
