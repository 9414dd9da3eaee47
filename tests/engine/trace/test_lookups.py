"""Look-ups in tables and two-byte products inside of programs: native, with eager's bits and errors."""

import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.runtime.stages import Run
from rushlight.nn import functional as F


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


def native(function, *args):
    """The compiled function, all of whose entries are stages."""
    made = torch.compile(function, mode="reduce-overhead", fullgraph=True)
    for _ in range(3):
        made(*args)
    (plan,) = made._runner.plans.values()
    python = [
        e.name
        for part in plan.program.parts
        for e, s in zip(part.entries, part.steps, strict=True)
        if not isinstance(s, Run)
    ]
    assert not python, python
    return made


def looked_up(table, numbers):
    table = table.clone().requires_grad_()
    found = F.embedding(numbers, table).float()
    (found * found.sum().sin()).sum().backward()
    return found.detach(), table.grad


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("shape", [(7, 5), (500, 160)])
def test_rows_of_a_table(dtype, shape):
    def args():
        return torch.randn(shape).to(getattr(torch, dtype)), torch.randint(shape[0], (3, 150))

    made = native(looked_up, *args())
    for _ in range(3):
        given = args()
        assert all(torch.equal(a, b) for a, b in zip(made(*given), looked_up(*given), strict=True))


@pytest.mark.parametrize("wrong", [7, -1, -(1 << 63)])
def test_a_number_out_of_range(wrong):
    table, numbers = torch.randn(7, 5), torch.arange(6)
    made = native(looked_up, table, numbers)
    bad = numbers.clone()
    bad[3] = wrong
    with pytest.raises(IndexError, match="index out of range in self"):
        made(table, bad)
    assert torch.equal(made(table, numbers)[0], table[:6])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("bias", [True, False])
def test_two_byte_layers(dtype, bias):
    torch.manual_seed(0)
    layer = torch.nn.Linear(24, 40, bias=bias).to(dtype)

    def step(x):
        x = x.clone().requires_grad_()
        found = layer(x).relu() * 2
        torch.autograd.backward(found.sum(), inputs=[x, *layer.parameters()])
        grads = [p.grad.clone() for p in layer.parameters()]
        layer.zero_grad()
        return found.detach(), x.grad, *grads

    made = torch.compile(step, mode="reduce-overhead", fullgraph=True)
    for _ in range(5):
        x = torch.randn(6, 9, 24, dtype=dtype)
        assert all(torch.equal(a, b) for a, b in zip(made(x), step(x), strict=True))
    assert "= linear(" not in str(torch.explain(made)) and "matmul(" in str(torch.explain(made))


def test_autocast_is_one_native_call():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Dropout(0.3), torch.nn.Linear(32, 8)
    )

    def forward(x):
        with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
            return net(x)

    made = native(forward, torch.randn(64, 16))
    for seed in range(3):
        x = torch.randn(64, 16)
        torch.manual_seed(seed)
        expected = forward(x)
        torch.manual_seed(seed)
        assert torch.equal(made(x), expected)


def attended(q, k, v, mask):
    q, k, v = (t.clone().requires_grad_() for t in (q, k, v))
    scores = (q @ k.transpose(-2, -1) * 0.125).masked_fill(mask, float("-inf"))
    found = F.softmax(scores, -1) @ v
    found.sin().sum().backward()
    return found.detach(), q.grad, k.grad, v.grad


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_masks_are_part_of_the_kernels_around(dtype):
    given = [torch.randn(2, 4, 16, 8).to(getattr(torch, dtype)) for _ in range(3)]
    mask = torch.ones(16, 16).triu(1).bool()
    made = native(attended, *given, mask)
    assert all(map(torch.equal, made(*given, mask), attended(*given, mask)))
    assert "masked_fill" not in str(torch.explain(made)).replace("test_lookups", "")


@pytest.mark.parametrize("value", [2, torch.tensor(0.5), torch.tensor(3)])
def test_masks_of_any_layout_and_number(value):
    x, mask = torch.randn(5, 7), torch.randn(5, 7) > 0
    for function in (
        lambda x, m: x.t().masked_fill(m.t(), value) * 2,
        lambda x, m: x[:, :1].masked_fill(m, value) * 2,
    ):
        made = torch.compile(function)
        for _ in range(4):
            found, wanted = made(x, mask), function(x, mask)
            assert torch.equal(found, wanted) and found.stride() == wanted.stride()


def test_rows_selected():
    def program(x, rows):
        return x.index_select(0, rows) * 2

    x, rows = torch.randn(60, 40), torch.randint(60, (90,))
    made = native(program, x, rows)
    assert torch.equal(made(x, rows), program(x, rows))
    with pytest.raises(IndexError, match="out of range"):
        made(x, rows + 60)
