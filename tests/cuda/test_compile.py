"""compile() on a device: after two calls of a kind a call is one launch, with eager's numbers and effects."""

from __future__ import annotations

import copy
import gc
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from tests.cuda.fake_driver import FakeDriver

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.parametrize(
    "devices", [("simulated:1GB",), ("driver", 1)], indirect=True, ids=["simulated", "driver"]
)


ENDED: list[int] = []


class Block(nn.Module):
    """Attention and a feed-forward network, with dropout if asked."""

    def __init__(self, width: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, t, width = x.shape
        q, k, v = self.mix(self.one(x)).view(n, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(n, t, width))
        return x + self.narrow(F.gelu(self.wide(self.two(x))))


class GPT(nn.Module):
    """A small char_gpt."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(11, 8), nn.Embedding(6, 8)
        self.block, self.head = Block(), nn.Linear(8, 11)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        return F.cross_entropy(self.head(self.block(x)).view(-1, 11), ids.view(-1))


def runner(f: Any) -> Any:
    return getattr(f, "_runner")


def state(f: Any) -> tuple[bool, str]:
    """(whether calls are replayed, why not)."""
    (plan,) = runner(f).plans.values()
    return plan.ready, plan.refusal


def pair(cls: Any = GPT) -> tuple[Any, Any]:
    """The same model on the CPU and on the device."""
    here = cls()
    return here, copy.deepcopy(here).cuda()


def batches(count: int = 7) -> list[torch.Tensor]:
    return [torch.randint(0, 11, (2, 6)) for _ in range(count)]


def test_a_training_step_is_one_launch(fake: FakeDriver | None) -> None:
    def step_of(model: Any) -> Any:
        optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        def step(ids: torch.Tensor) -> torch.Tensor:
            optimizer.zero_grad()
            loss = model(ids)
            loss.backward()
            optimizer.step()
            schedule.step()
            return loss

        return step

    here, there = map(step_of, pair())
    there = torch.compile(there)
    for k, ids in enumerate(batches()):
        given = ids.cuda()
        before = fake.calls.copy() if fake else None
        found = there(given)
        if fake is not None and before is not None and k > 2:
            calls = fake.calls - before
            assert calls["cuGraphLaunch"] == 1 and not calls["cuLaunchKernel"]
        torch.testing.assert_close(found.cpu(), here(ids), rtol=1e-5, atol=1e-5)
    assert state(there) == (True, "")


def test_a_forward_whose_backward_comes_later(fake: FakeDriver | None) -> None:
    here, there = pair()
    compiled = torch.compile(there)
    optimizers = [torch.optim.SGD(m.parameters(), 0.1, momentum=0.9) for m in (here, there)]
    for k, ids in enumerate(batches()):
        for o in optimizers:
            o.zero_grad()
        given = ids.cuda()
        before = fake.calls.copy() if fake else None
        found = compiled(given)
        found.backward()
        if fake is not None and before is not None and k > 2:
            assert (fake.calls - before)["cuGraphLaunch"] == 2
        want = here(ids)
        want.backward()
        torch.testing.assert_close(found.cpu(), want, rtol=1e-5, atol=1e-5)
        for p, q in zip(here.parameters(), there.parameters(), strict=True):
            torch.testing.assert_close(q.grad.cpu(), p.grad, rtol=1e-4, atol=1e-5)
        for o in optimizers:
            o.step()


def test_results_are_the_callers() -> None:
    f = torch.compile(lambda t: F.gelu(t) * 2 + t.sum())
    given = [torch.randn(4, 4) for _ in range(6)]
    found = [f(t.cuda()) for t in given]
    for t, r in zip(given, found, strict=True):
        torch.testing.assert_close(r.cpu(), F.gelu(t) * 2 + t.sum())
    assert state(f) == (True, "")


@pytest.mark.parametrize("forget", ["before", "behind", "never", "zeros"])
def test_gradients_are_held_as_eager_holds_them(forget: str) -> None:
    here, there = pair()

    def loss_of(model: Any) -> Any:
        def run(ids: torch.Tensor) -> torch.Tensor:
            loss = model(ids)
            loss.backward()
            return loss.detach()

        return run

    one, two = loss_of(here), torch.compile(loss_of(there))
    for k, ids in enumerate(batches()):
        for model in (here, there):
            if forget == "before" or (forget == "behind" and k % 2):
                model.zero_grad()
            elif forget == "zeros":
                model.zero_grad(set_to_none=False)
        torch.testing.assert_close(two(ids.cuda()).cpu(), one(ids), rtol=1e-5, atol=1e-5)
        for p, q in zip(here.parameters(), there.parameters(), strict=True):
            torch.testing.assert_close(q.grad.cpu(), p.grad, rtol=1e-4, atol=1e-5)


def test_buffers_and_modes() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm, self.out = nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.out(F.relu(self.norm(self.conv(x))).mean((2, 3)))

    here, there = pair(Net)
    compiled = torch.compile(there)
    for k in range(9):
        if k == 5:
            here.eval()
            compiled.eval()
        x = torch.randn(2, 2, 6, 6)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x.cuda()).cpu(), here(x), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(there.norm.running_mean.cpu(), here.norm.running_mean)
        assert int(there.norm.num_batches_tracked) == int(here.norm.num_batches_tracked)


def test_random_numbers_go_on() -> None:
    f = torch.compile(lambda t: F.dropout(t, 0.5))
    ones = torch.ones(512, device="cuda")
    masks = [tuple(f(ones).tolist()) for _ in range(6)]
    assert len(set(masks)) == 6
    torch.manual_seed(0)
    first = f(ones)
    torch.manual_seed(0)
    assert torch.equal(f(ones), first) and torch.equal(F.dropout(ones, 0.5), f(ones)) is False


def test_an_input_that_requires_grad() -> None:
    f = torch.compile(lambda t: (t * t).sum())
    for _ in range(5):
        x = torch.randn(3, device="cuda", requires_grad=True)
        f(x).backward()
        torch.testing.assert_close(x.grad, 2 * x.detach())
    y = torch.randn(3, device="cuda", requires_grad=True)
    f(y * 3).backward()
    torch.testing.assert_close(y.grad, 18 * y.detach())


def test_a_graph_that_is_outstanding_keeps_its_memory() -> None:
    f = torch.compile(lambda t: t.exp().sin())
    given = [torch.randn(3, device="cuda", requires_grad=True) for _ in range(6)]
    for x in given[:4]:
        f(x).sum().backward()
    one, two = f(given[4]), f(given[5])
    two.sum().backward()
    one.sum().backward()
    for x in given[4:]:
        torch.testing.assert_close(x.grad, x.detach().exp().cos() * x.detach().exp())


REFUSED: dict[str, tuple[Any, str]] = {
    "a branch": (lambda t: t * 2 if t.sum() > 0 else t, "a branch on data"),
    "a number": (lambda t: t * float(t.max()), ""),
    "an argument that is written to": (lambda t: t.add_(1), "an argument is written to"),
    "the CPU": (lambda t: t + torch.ones(4).mul(2).cuda(), ""),
    "a mask": (lambda t: t[t > 0], ""),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_cannot_be_captured_runs_as_it_is(name: str) -> None:
    function, why = REFUSED[name]
    f = torch.compile(function)
    for _ in range(5):
        x = torch.randn(4)
        torch.testing.assert_close(f(x.cuda()).cpu(), function(x.clone().cuda()).cpu())
    ready, refusal = state(f)
    assert not ready and refusal and why in refusal


@pytest.mark.parametrize("backend", ["eager", lambda module, inputs: module])
def test_work_on_a_device_ends_no_graph_of_a_backend(backend: Any) -> None:
    f = torch.compile(lambda t: (t.sin() + 1).sum(), backend=backend, fullgraph=True)
    x = torch.ones(3, device="cuda")
    assert [f(x).item() for _ in range(3)] == [(x.sin() + 1).sum().item()] * 3


def test_fullgraph_says_why() -> None:
    f = torch.compile(lambda t: t * 2 if t.sum() > 0 else t, fullgraph=True)
    with pytest.raises(RuntimeError, match="cannot be compiled whole"):
        f(torch.ones(3, device="cuda"))


def _launched(fake: FakeDriver, compiled: Any, *args: Any) -> int:
    """How many kernels the last of four calls is made of."""
    for _ in range(3):
        compiled(*args)
    before = len(fake.launched)
    compiled(*args)
    return len(fake.launched) - before


CHAINS: dict[str, Any] = {
    "a chain": lambda x, y: ((x * y + 1).sigmoid() - y).exp(),
    "of two results": lambda x, y: (lambda z: (z * 2, z.tanh()))(x + y),
    "in place": lambda x, y: (x + 1).mul_(y).add_(x).relu_(),
    "of half precision": lambda x, y: ((x.half() + y.half()) * 3).float() + 1,
    "of another dtype": lambda x, y: torch.where(x > y, x, y) * (x > 0),
    "with broadcast operands": lambda x, y: (x + y[0]) * y[:, :1] - x.mean(),
    "with a copy": lambda x, y: (x.t().contiguous() + 1) * 2,
    "read again after it was written": lambda x, y: (lambda z: (z.t() + z.add_(1)[0], z))((x * y)[:, :5] + 0),
}


@pytest.mark.parametrize("name", CHAINS)
def test_pointwise_chains_are_fused(name: str, fake: FakeDriver | None) -> None:
    function = CHAINS[name]
    compiled = torch.compile(function)
    for _ in range(5):
        x, y = torch.randn(5, 6), torch.randn(5, 6)
        want, found = function(x, y), compiled(x.cuda(), y.cuda())
        for a, b in zip(*[t if isinstance(t, tuple) else (t,) for t in (want, found)], strict=True):
            torch.testing.assert_close(b.cpu(), a, rtol=1e-5, atol=1e-5)
    assert state(compiled) == (True, "")
    if fake is not None and name in ("a chain", "of two results", "in place", "of half precision"):
        assert _launched(fake, compiled, x.cuda(), y.cuda()) == 1


def test_a_step_has_few_kernels(fake: FakeDriver | None) -> None:
    if fake is None:
        return
    model = GPT().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    ids = torch.randint(0, 11, (2, 6), device="cuda")

    def step(ids: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss: torch.Tensor = model(ids)
        loss.backward()
        optimizer.step()
        return loss

    step(ids)
    before = len(fake.launched)
    step(ids)
    eager = len(fake.launched) - before
    assert _launched(fake, torch.compile(step), ids) < 0.75 * eager


CHANGES: dict[str, Any] = {
    "weight decay": (torch.optim.AdamW, {"weight_decay": 0.1}, {"weight_decay": 0.3}),
    "weight decay that begins": (torch.optim.Adam, {"weight_decay": 0.0}, {"weight_decay": 0.3}),
    "betas": (torch.optim.AdamW, {}, {"betas": (0.5, 0.6)}),
    "momentum": (torch.optim.SGD, {"momentum": 0.9}, {"momentum": 0.2}),
    "nesterov": (torch.optim.SGD, {"momentum": 0.9}, {"nesterov": True}),
    "maximize": (torch.optim.AdamW, {}, {"maximize": True}),
    "alpha": (torch.optim.RMSprop, {}, {"alpha": 0.5, "eps": 1e-2}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_options_are_read_at_each_launch(name: str) -> None:
    cls, options, change = CHANGES[name]

    def step_of(model: Any) -> Any:
        optimizer = cls(model.parameters(), 1e-2, **options)

        def step(x: torch.Tensor) -> torch.Tensor:
            optimizer.zero_grad()
            loss: torch.Tensor = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        return step, optimizer

    here = nn.Linear(4, 3)
    there = copy.deepcopy(here).cuda()
    (eager, mine), (step, theirs) = step_of(here), step_of(there)
    compiled = torch.compile(step)
    for k in range(12):
        if k == 6:
            for optimizer in (mine, theirs):
                optimizer.param_groups[0].update(change)
        x = torch.randn(5, 4)
        torch.testing.assert_close(compiled(x.cuda()).cpu(), eager(x), rtol=1e-5, atol=1e-5)
        for p, q in zip(here.parameters(), there.parameters(), strict=True):
            torch.testing.assert_close(q.cpu(), p, rtol=1e-5, atol=1e-5)


def test_an_argument_may_be_a_parameter_that_the_step_writes_to(fake: FakeDriver | None) -> None:
    def step_of(model: Any) -> Any:
        def step(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                model.weight.mul_(0.5)
            return seen.sum() + x.sum()

        return step

    here, there = pair(lambda: nn.Linear(3, 2))
    eager, compiled = step_of(here), torch.compile(step_of(there))
    for k in range(5):
        x = torch.full((2,), float(k))
        want, found = eager(x, here.bias), compiled(x.cuda(), there.bias)
        torch.testing.assert_close(found.cpu(), want)
    want, found = eager(x, here.weight.detach()), compiled(x.cuda(), there.weight.detach())
    torch.testing.assert_close(found.cpu(), want)


def test_what_is_collected_meanwhile_is_not_the_step_s() -> None:
    class Cycle:
        def __init__(self) -> None:
            self.own = self
            self.ended: list[int] = ENDED

        def __del__(self) -> None:
            self.ended.append(1)

    weight = torch.ones(3, device="cuda")
    step = torch.compile(lambda x: (x * weight).sum())
    before = gc.get_threshold()
    try:
        for k in range(6):
            x = torch.full((3,), float(k), device="cuda")
            garbage = Cycle()
            gc.collect(0)  # it is not of the youngest
            del garbage
            gc.set_threshold(50, 1, 1000)
            found = step(x)
            gc.set_threshold(*before)
            assert found.item() == 3 * k
    finally:
        gc.set_threshold(*before)
    assert state(step) == (True, "") and ENDED
