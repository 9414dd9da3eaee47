"""Gradients that a program has written, in compiled calls: what its backward() does besides is done once a call."""

import pytest

import rushlight as torch

COUNT = [0]
OWN = torch.Generator()


class Drawn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 1

    @staticmethod
    def backward(ctx, grad):
        return torch.rand(2) * grad


class DrawnByName(Drawn):
    @staticmethod
    def backward(ctx, grad):
        return torch.rand(2, generator=OWN) * grad


class Counted(Drawn):
    @staticmethod
    def backward(ctx, grad):
        COUNT[0] += 1
        return grad * 2


class CountedOnce(Drawn):
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        COUNT[0] += 1
        return grad * 2


class CountedByVjp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 1

    @staticmethod
    def vjp(ctx, grad):
        COUNT[0] += 1
        return grad * 2


class Told(Drawn):
    @staticmethod
    def backward(ctx, grad):
        COUNT.append(1)
        return grad * 2


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, by):
        ctx.save_for_backward(a)
        ctx.by = by
        return a * a * by

    @staticmethod
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        found = [2 * grad * a * ctx.by]
        return found.pop(), None


def _steps(function, compiled: bool, count: int = 5):
    """(Results, gradients and the next random number) of calls that draw numbers, too."""
    p, found = torch.nn.Parameter(torch.ones(2)), []
    run = torch.compile(function) if compiled else function
    torch.manual_seed(1)
    OWN.manual_seed(1)
    for _ in range(count):
        p.grad = None
        out = run(p)
        out.sum().backward()
        found += [out.tolist(), p.grad.tolist()]
    return found, torch.rand(1).item()


@pytest.mark.parametrize("kind", [Drawn, DrawnByName])
def test_random_numbers_of_a_backward_are_drawn_when_it_runs(kind) -> None:
    """A record runs the backward pass at once; what that drew was lost to the calls that followed."""

    def function(p):
        return kind.apply(p) + torch.rand(2)

    assert _steps(function, True) == _steps(function, False)


@pytest.mark.parametrize(("kind", "most"), [(Counted, 5), (CountedOnce, 5), (CountedByVjp, 5), (Told, 6)])
def test_effects_of_a_backward_happen_at_every_call(kind, most: int) -> None:
    COUNT[:] = [0]
    _steps(lambda p: kind.apply(p) + 1, True)
    assert 5 <= COUNT[0] + len(COUNT) - 1 <= most  # what only running it tells is run once more


def test_a_backward_that_only_computes_is_replayed() -> None:
    def function(p):
        return Scaled.apply(p * 1, 3.0)

    assert _steps(function, True) == _steps(function, False)
    assert "replayed" in str(torch.explain(function, torch.nn.Parameter(torch.ones(2))))


def test_writes_into_no_rows_are_replayed() -> None:
    """Half of one sample: NumPy lets such memory only be read where it was spread."""

    def function(p):
        a = (p * 2).unsqueeze(0).expand(1, 2) * 1
        half = len(a) // 2
        a[half:] = a[half:].softmax(-1)
        a[:half] = a[:half].softmax(-1)
        return a

    assert _steps(function, True) == _steps(function, False)
