"""Checkpoints: the same numbers as without, less memory between forward and backward, and the refusals."""

import contextlib
import tracemalloc
import warnings

import pytest

import rushlight as torch
from rushlight.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)

WAYS = pytest.mark.parametrize("reentrant", [False, True])


@pytest.fixture
def x():
    return torch.tensor([0.3, -0.4, 1.5, 0.7], requires_grad=True)


class _Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner, self.norm = torch.nn.Linear(width, width), torch.nn.LayerNorm(width)
        self.drop, self.calls = torch.nn.Dropout(0.3), 0

    def forward(self, x):
        self.calls += 1
        return x + self.drop(torch.nn.functional.gelu(self.inner(self.norm(x))))


def _gradients(run, width=4):
    torch.manual_seed(0)
    blocks = torch.nn.Sequential(*[_Block(width) for _ in range(5)])
    x = torch.randn(3, width, requires_grad=True)
    y = run(blocks, x)
    y.square().sum().backward()
    return [
        y.tolist(),
        x.grad.tolist(),
        *[p.grad.tolist() for p in blocks.parameters()],
        torch.rand(1).item(),
    ]


@WAYS
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_same_numbers_with_dropout(reentrant):
    def each(blocks, x):
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=reentrant)
        return x

    wanted = _gradients(lambda blocks, x: blocks(x))
    assert _gradients(each) == wanted
    assert _gradients(lambda b, x: checkpoint_sequential(b, 2, x, use_reentrant=reentrant)) == wanted
    assert _gradients(lambda b, x: checkpoint(lambda t: each(b, t), x, use_reentrant=reentrant)) == wanted


@WAYS
def test_without_random_state(x, reentrant):
    state = torch.get_rng_state()
    y = checkpoint(lambda t: t * torch.rand(4), x, use_reentrant=reentrant, preserve_rng_state=False)
    y.sum().backward()
    assert x.grad.tolist() != (y / x).tolist()
    torch.set_rng_state(state)
    torch.rand(8)


@WAYS
def test_autocast_is_kept(x, reentrant):
    seen = []

    def f(t):
        y = t.view(2, 2) @ t.view(2, 2)
        seen.append(y.dtype)
        return y.exp()

    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = checkpoint(f, x, use_reentrant=reentrant)
    y.float().sum().backward()
    assert seen == [torch.bfloat16] * 2


def test_keywords_and_second_gradients(x):
    y = checkpoint(lambda t, power: t.sin() ** power, x, power=3, use_reentrant=False)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    (wanted,) = torch.autograd.grad((x.sin() ** 3).sum(), x, create_graph=True)
    assert torch.equal(g, wanted) and torch.equal(h, torch.autograd.grad(wanted.sum(), x)[0])


def test_nested_and_retained(x):
    calls = [0, 0]

    def inner(t):
        calls[1] += 1
        return t.sin().exp()

    def outer(t):
        calls[0] += 1
        return checkpoint(inner, t.cos(), use_reentrant=False).tanh()

    y = checkpoint(outer, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    assert calls == [2, 3]
    first, x.grad = x.grad, None
    y.backward()
    assert calls == [3, 5] and torch.equal(x.grad, first)
    assert torch.allclose(torch.autograd.grad(x.cos().sin().exp().tanh().sum(), x)[0], first)


def test_early_stop(x):
    def passed():
        count = []
        y = checkpoint(lambda t: (t.sin().exp(), count.append(1))[0] + 1, x, use_reentrant=False)
        y.sum().backward()
        return len(count)

    assert passed() == 1
    with set_checkpoint_early_stop(False):
        assert passed() == 2


def test_contexts(x):
    log = []

    @contextlib.contextmanager
    def note(name):
        log.append(name)
        yield

    checkpoint(
        torch.exp, x, use_reentrant=False, context_fn=lambda: (note("first"), note("again"))
    ).sum().backward()
    assert log == ["first", "again"]


def _changing(first, then):
    functions = iter([first, then])
    return lambda t: next(functions)(t)


@pytest.mark.parametrize(
    ("first", "then", "message"),
    [
        (lambda t: t.sin().cos(), lambda t: t[:2].sin().cos(), "different metadata"),
        (lambda t: t.sin().cos().exp(), lambda t: t.sin(), "A different number of tensors was saved"),
    ],
)
def test_a_call_that_differs(x, first, then, message):
    y = checkpoint(_changing(first, then), x, use_reentrant=False)
    with pytest.raises(CheckpointError, match=message):
        y.sum().backward()


def test_too_much_saved(x):
    with set_checkpoint_early_stop(False):
        y = checkpoint(_changing(torch.sin, lambda t: t.sin().cos()), x, use_reentrant=False)
    with pytest.raises(CheckpointError, match="trying to save more tensors during recomputation"):
        y.sum().backward()


def test_debug_lists_the_ops(x):
    with set_checkpoint_debug_enabled(True):
        y = checkpoint(_changing(lambda t: t.sin().cos().exp(), torch.sin), x, use_reentrant=False)
    with pytest.raises(CheckpointError, match=r"(?s)debug=True.*original forward.*cos.*recomputation.*sin"):
        y.sum().backward()


def test_refusals(x):
    with pytest.raises(ValueError, match="Unexpected keyword arguments: power"):
        checkpoint(torch.sin, x, power=2, use_reentrant=True)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(torch.sin, x, use_reentrant=True, debug=True)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(torch.sin, x, use_reentrant=False, determinism_check="all")
    with pytest.raises(RuntimeError, match=r"incompatible with .grad\(\) or passing an `inputs`"):
        torch.autograd.grad(checkpoint(torch.sin, x, use_reentrant=True).sum(), x)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        checkpoint(lambda t: t.detach(), x, use_reentrant=True).sum().backward()
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        assert not checkpoint(torch.sin, x.detach(), use_reentrant=True).requires_grad
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(torch.sin, x)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error")
        assert not checkpoint(torch.sin, x, use_reentrant=False).requires_grad
    with pytest.raises(NotImplementedError, match="GraphExecGroup"):
        torch.utils.checkpoint.GraphExecGroup()


def _kept(run, width=50000, depth=24):
    """(what stays alive between forward and backward, the peak of both), in arrays of `width` floats."""
    x = torch.linspace(0, 1, width, requires_grad=True)
    steps = [lambda t: t.sin().exp().tanh() * 0.5] * depth
    run(steps, x).mean().backward()  # kernels and tables are made
    x.grad = None
    tracemalloc.start()
    try:
        loss = run(steps, x).mean()
        kept = tracemalloc.get_traced_memory()[0]
        loss.backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return kept / (4 * width), peak / (4 * width)


def _plain(steps, x):
    for step in steps:
        x = step(x)
    return x


def test_checkpoints_inside_transforms_that_wrap_tensors(x):
    def block(t):
        return checkpoint(lambda t: t.sin().exp().sum(), t, use_reentrant=False)

    rows = x.detach().view(2, 2)
    assert torch.equal(torch.vmap(block)(rows), rows.sin().exp().sum(-1))
    slope = rows.sin().exp() * rows.cos()
    torch.testing.assert_close(torch.func.jacfwd(block)(rows), slope)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(4))
        tangent = torch.autograd.forward_ad.unpack_dual(block(dual)).tangent
        tangent.backward()
    torch.testing.assert_close(tangent.detach(), slope.sum())
    torch.testing.assert_close(x.grad, (rows.sin().exp() * (rows.cos() ** 2 - rows.sin())).view(-1))
    with pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"):
        torch.func.grad(block)(rows)


@WAYS
def test_memory_between_forward_and_backward(reentrant):
    plain, plain_peak = _kept(_plain)
    assert plain > 3 * 24 - 2  # what sin, exp and tanh keep

    def each(steps, x):
        for step in steps:
            x = checkpoint(step, x, use_reentrant=reentrant)
        return x

    kept, peak = _kept(each)
    assert kept < 24 + 4 and peak < 24 + 12  # a block's argument, and one block at a time
    kept, peak = _kept(lambda s, x: checkpoint_sequential(s, 6, x, use_reentrant=reentrant))
    assert kept < 6 + 3 * 4 + 6 and peak < 6 + 2 * 3 * 4 + 16 < plain_peak / 1.5
    kept, _ = _kept(lambda s, x: checkpoint(lambda t: _plain(s, t), x, use_reentrant=reentrant))
    assert kept < 4
