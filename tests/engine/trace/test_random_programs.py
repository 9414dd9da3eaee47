"""Programs of random ops, views and in-place writes: compiled calls equal eager ones bit by bit."""

import random

import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings
from rushlight.nn import functional as F

SHAPE = (6, 8)


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


def inplace(name, *values):
    def run(a, *rest):
        own = a * 1.5
        getattr(own, name)(*values, *rest)
        return own

    return run


def through_a_view(a, b):
    own = a.clone()
    own[1:3].mul_(b[2:4])
    own.t()[0] = 2.0
    return own


UNARY = [
    torch.relu,
    torch.tanh,
    torch.sigmoid,
    torch.abs,
    lambda a: a * 0.5 + 1,
    lambda a: (a * a + 1).rsqrt(),
    lambda a: F.gelu(a),
    lambda a: F.softmax(a, -1),
    lambda a: F.layer_norm(a, SHAPE[1:]),
    lambda a: a - a.mean(-1, keepdim=True),
    lambda a: a / (a.square().sum() + 1),
    lambda a: a.cumsum(0),
    lambda a: a.t().contiguous().t() * 2,
    lambda a: a.flip(0),
    lambda a: a.reshape(4, 12).reshape(SHAPE),
    lambda a: torch.cat([a[2:], a[:2]]),
    lambda a: torch.cat(a.chunk(2, 1)[::-1], 1),
    lambda a: a[[0, 2, 1, 5, 4, 3]],
    lambda a: F.dropout(a, 0.3),
    lambda a: a.double().exp().float(),
    lambda a: a.where(a > 0, a * 0.1),
    lambda a: a.masked_fill(a < -1, 0.25),
    inplace("add_", 1.0),
    inplace("clamp_", -1, 1),
    inplace("exp_"),
    lambda a: a.amax(0) + a,
    lambda a: a.unsqueeze(1).expand(6, 3, 8).sum(1),
    lambda a: (a * 3).round().int() + a,
    lambda a: a.bfloat16().float() * 0.5,
    lambda a: a.logsumexp(1, True) - a,
    lambda a: F.linear(a.bfloat16(), torch.ones(8, 8).bfloat16()).float(),
    lambda a: (a.half() @ a.half().t() @ a.half()).float(),
    lambda a: F.embedding(torch.arange(6) % 3, a),
    lambda a: (a @ a.t()).sin() @ a + (a @ a.t()).cos() @ a,
    lambda a: a.bfloat16().sum(0).float() + a * torch.linspace(0, 1, 8),
]
BINARY = [
    torch.add,
    torch.sub,
    torch.mul,
    lambda a, b: a / (b.abs() + 1),
    torch.maximum,
    lambda a, b: a.addcmul(a, b, value=0.1),
    lambda a, b: torch.where(a > b, a, b * 0.5),
    lambda a, b: (a @ b.t()).tanh() @ a,
    inplace("mul_"),
    inplace("sub_"),
    through_a_view,
    lambda a, b: F.linear(a, b[:, :8], b[:, 0]).matmul(b) * 0.1,
    lambda a, b: a + b[0],
    lambda a, b: a * b.sum(1, keepdim=True),
    lambda a, b: torch.stack([a, b]).mean(0),
    lambda a, b: a.lerp(b, 0.3),
    lambda a, b: torch.hypot(a, b),
    lambda a, b: a.copysign(b),
]


def program(seed):
    """A function of two tensors, and whether it is always the same one."""
    choose = random.Random(seed)
    steps = []
    for count in range(2, choose.randint(5, 14)):
        if choose.random() < 0.6:
            steps.append((choose.choice(UNARY), (choose.randrange(count),)))
        else:
            steps.append((choose.choice(BINARY), (choose.randrange(count), choose.randrange(count))))
    kept = choose.randrange(2 + len(steps))

    def run(x, y):
        values = [x, y]
        for op, places in steps:
            values.append(op(*[values[p] for p in places]))
        return values[-1], values[-1].sum() + values[kept].mean()

    return run


def results(function, inputs, backward):
    found = []
    for number, (x, y) in enumerate(inputs):
        torch.manual_seed(number)
        x, y = (t.clone().requires_grad_(backward) for t in (x, y))
        outs = function(x, y)
        grads = torch.autograd.grad(outs[1], (x, y), allow_unused=True) if backward else ()
        found.append([*(t.detach() for t in outs), *(g for g in grads if g is not None)])
    return found


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
def test_compiled_equals_eager(seed, backward):
    function = program(seed)
    torch.manual_seed(seed)
    inputs = [(torch.randn(SHAPE), torch.randn(SHAPE)) for _ in range(6)]
    expected = results(function, inputs, backward)
    compiled = torch.compile(function, mode="reduce-overhead")
    for wanted, found in zip(expected, results(compiled, inputs, backward), strict=True):
        assert [t.stride() for t in wanted[:2]] == [t.stride() for t in found[:2]]
        for a, b in zip(wanted, found, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            assert torch.equal(a, b) or (
                torch.equal(a.isnan(), b.isnan()) and torch.equal(a.nan_to_num(), b.nan_to_num())
            )
    report = str(torch.explain(compiled))
    assert "replayed 3 times" in report, report
