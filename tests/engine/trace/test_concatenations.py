"""cat and stack in compiled programs: their parts are written where they belong by what makes them."""

import pytest

import rushlight as torch
from rushlight._engine.core.settings import settings
from rushlight._engine.trace.passes.lowering import cut
from rushlight._functorch import config


def rotated(x, c):
    half = x.shape[-1] // 2
    return x * c + torch.cat([-x[..., half:], x[..., :half]], -1) * (1 - c)


def written(a, b):
    c = torch.cat([a * 2, b + 1])
    c[1:3] += 1
    d = a * 2
    return torch.cat([c, d, d])


PROGRAMS = {
    "cat": lambda a, b: torch.relu(torch.cat([a * 2, b + 1, a], 1) * 3),
    "first": lambda a, b: torch.cat([a * 2, b + 1, a]).exp(),
    "stack": lambda a, b: torch.stack([a.exp(), b + 1], -1),
    "turned": lambda a, b: torch.cat([a.t() * 2, (b + 1).t()], -1).sin(),
    "rows": lambda a, b: torch.cat([a.softmax(-1), torch.nn.functional.layer_norm(b, b.shape[-1:])], 1),
    "products": lambda a, b: torch.cat([a @ b.t(), b @ a.t()], 1) * 2,
    "empty": lambda a, b: torch.cat([a * 2, torch.empty(0, dtype=a.dtype), b[:0]]) + 1,
    "nothing": lambda a, b: torch.cat([a[:0] * 2, b[:0]]),
    "rotated": rotated,
    "written": written,
}


def both_ways(function, arguments):
    given = [x.clone().requires_grad_() for x in arguments]
    out = function(*given)
    out.sum().backward()
    return out, *[x.grad for x in given]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eager(name, dtype):
    arguments = torch.randn(48, 40).to(dtype), torch.randn(48, 40).to(dtype)
    with settings.using(verify=True, kernels="llvm"):
        expected = both_ways(PROGRAMS[name], arguments)
        compiled = torch.compile(PROGRAMS[name])
        for _ in range(4):
            for mine, theirs in zip(both_ways(compiled, arguments), expected, strict=True):
                assert torch.equal(mine, theirs) and mine.stride() == theirs.stride()


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_parts_are_not_made_again_one_by_one(share, monkeypatch):
    monkeypatch.setattr(config, "activation_memory_budget", share)
    arguments = torch.randn(40, 50), torch.randn(40, 60)

    def program(a, b):
        return (torch.cat([a * 2, b + 1], 1).sigmoid() * torch.cat([a.exp(), b.sin()], 1)).pow(3)

    with settings.using(kernels="llvm"):
        expected = both_ways(program, arguments)
        compiled = torch.compile(program)
        for _ in range(3):
            found = both_ways(compiled, arguments)
    assert all(map(torch.equal, found, expected))


def test_makers_write_their_parts():
    with settings.using(kernels="llvm"):
        report = str(torch.explain(PROGRAMS["cat"], torch.randn(64, 64), torch.randn(64, 64)))
    assert "_cat" not in report.replace("test_concatenations", "")


def test_whole_numbers():
    compiled = torch.compile(lambda a, b: torch.cat([a * 2, b]))
    for _ in range(3):
        assert compiled(torch.arange(3), torch.arange(2)).tolist() == [0, 2, 4, 0, 1]


def test_cuts_leave_out_what_is_empty():
    out, a = torch.zeros(2, 5).numpy(), torch.ones(2, 3).numpy()
    parts = cut(out, [a, a[:0].reshape(-1), a[:, :2]], 1, False)
    assert [(to.shape, part.shape) for to, part in parts] == [((2, 3), (2, 3)), ((2, 2), (2, 2))]
