"""Calls that are taken at once (matchers.py) are so only where all is as it was: random programs whose
operands, modes and surroundings change from call to call equal eager ones bit by bit.
"""

import contextlib
import random
import threading

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from rushlight._engine.trace import choice, matching
from rushlight.nn import functional as F
from tests.engine.trace.test_matching import same


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


SITUATIONS = (
    ["plain"] * 6
    + "other same view overlapping nograd toggle number eval raised thread hook exposed packed".split()
    + "autocast inference kept again reads".split()
)


class Model(nn.Module):
    """Random layers, and what surrounds them."""

    def __init__(self, choose):
        super().__init__()
        self.norm, self.batch, self.linear = nn.LayerNorm(6), nn.BatchNorm1d(6), nn.Linear(6, 6)
        self.table = nn.Embedding(9, 6)
        self.drop = nn.Dropout(0.3)
        self.order = [choose.choice(STEPS) for _ in range(choose.randint(3, 9))]
        self.numbers = [choose.random() for _ in self.order]
        self.said = []

    def forward(self, x, y, situation):
        for number, (step, factor) in enumerate(zip(self.order, self.numbers, strict=True)):
            if situation == "number" and number == 1:
                factor = factor + 0.25
            x = step(self, x, y, factor)
            if number == len(self.order) // 2:
                self.happen(situation, x)
        return x

    def happen(self, situation, x):
        if situation == "raised":
            try:
                x @ x
            except RuntimeError as error:
                self.said.append(str(error))
        elif situation == "thread":
            reader = threading.Thread(target=lambda: self.said.append(x.sum().item()))
            reader.start()
            reader.join()
        elif situation == "hook" and x.requires_grad:
            x.register_hook(lambda g: self.said.append(float(g.sum())))
        elif situation == "reads":
            self.said.append([float(v) for v in x.detach().flatten()[:3]])


def inplace(self, x, y, factor):
    h = x * factor
    h.add_(y)
    return h.relu_()


def parts(self, x, y, factor):
    a, b = (x + factor).chunk(2, 1)
    return torch.cat([b, a], 1)


def brackets(self, x, y, factor):
    h = x * 1.5
    return torch.stack([h[:, i] for i in (5, 4, 3, 2, 1, 0)], 1) + h[1:2, ::1]


def through_a_view(self, x, y, factor):
    h = x * 1.25
    h[1:3].mul_(factor)
    return h


STEPS = [
    inplace,
    parts,
    brackets,
    through_a_view,
    lambda self, x, y, f: self.norm(x),
    lambda self, x, y, f: self.batch(x),
    lambda self, x, y, f: self.linear(x).tanh(),
    lambda self, x, y, f: self.drop(x) + y,
    lambda self, x, y, f: F.gelu(x, approximate="tanh") * f,
    lambda self, x, y, f: x.softmax(-1) + y * f,
    lambda self, x, y, f: x.reshape(3, 8).t().reshape(4, 6).contiguous() - y,
    lambda self, x, y, f: x + self.table.weight[:4],
    lambda self, x, y, f: torch.where(x > 0, x, y * f),
    lambda self, x, y, f: (x - x.mean(0, keepdim=True)) / (x.var(0, keepdim=True) + f),
    lambda self, x, y, f: F.scaled_dot_product_attention(x[None], y[None], x[None])[0],
    lambda self, x, y, f: x * self.table(torch.arange(4)).sigmoid(),
    lambda self, x, y, f: x.clone().clamp_(-1, f) + F.silu(y),
]


class Run:
    """One of two copies of a program, eager or matched, on calls of the same situations."""

    def __init__(self, seed, is_matched):
        torch.manual_seed(seed)
        choose = random.Random(seed)
        self.model, self.trace = Model(choose), matching.Trace()
        self.is_matched, self.situations = is_matched, random.Random(seed + 1)
        self.x, self.y = torch.randn(4, 6), torch.randn(4, 6)
        self.found = []

    def operands(self, situation):
        x, y = self.x, self.y
        if situation == "other":
            x, y = torch.randn(4, 6), torch.randn(4, 6)
        elif situation == "same":
            y = x
        elif situation == "view":
            y = x[:]
        elif situation == "overlapping":
            whole = torch.randn(5, 6)
            x, y = whole[:4], whole[1:]
        elif situation == "exposed":
            y = torch.from_numpy(y.numpy().copy())
        return x, y

    @contextlib.contextmanager
    def surroundings(self, situation):
        with contextlib.ExitStack() as stack:
            if situation == "nograd":
                stack.enter_context(torch.no_grad())
            elif situation == "inference":
                stack.enter_context(torch.inference_mode())
            elif situation == "autocast":
                stack.enter_context(torch.autocast("cpu", torch.bfloat16))
            elif situation == "packed":
                hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t)
                stack.enter_context(hooks)
            yield

    def step(self):
        situation = self.situations.choice(SITUATIONS)
        x, y = self.operands(situation)
        if situation == "toggle":
            self.model.linear.weight.requires_grad_(not self.model.linear.weight.requires_grad)
        self.model.train(situation != "eval")
        for p in self.model.parameters():
            p.grad = None
        try:
            with self.surroundings(situation):
                out = self.call(x, y, situation)
            found = [out]
            if out.requires_grad:
                loss = out.float().square().sum()
                loss.backward(retain_graph=situation == "again")
                if situation == "again":
                    loss.backward()
            found += [p.grad for p in self.model.parameters()]
            found.append(type(out.grad_fn).__name__)
        except RuntimeError as error:
            found = [type(error).__name__]
        found += [b for b in self.model.buffers()]
        self.found.append((situation, [f.clone() if isinstance(f, torch.Tensor) else f for f in found]))

    def call(self, *args):
        return choice.call(self.trace, self.model, args, {}) if self.is_matched else self.model(*args)


@pytest.mark.parametrize("seed", range(16))
def test_what_changes_from_call_to_call(seed):
    results = []
    for is_matched in (False, True):
        run = Run(seed, is_matched)
        for _ in range(24):
            run.step()
        results.append((run, torch.get_rng_state()))
    (eager, state), (matched, other_state) = results
    for number, ((situation, a), (_, b)) in enumerate(zip(eager.found, matched.found, strict=True)):
        assert len(a) == len(b), (number, situation)
        for place, (p, q) in enumerate(zip(a, b, strict=True)):
            assert same(p, q), (number, situation, place)
    assert eager.model.said == matched.model.said
    assert same(state, other_state)


class Seen:
    """A call that reads tensors of a pool by names which change from call to call, by one op or by several."""

    def __init__(self, seed, is_matched):
        self.choose, self.is_matched = random.Random(seed), is_matched
        self.trace = matching.Trace()
        torch.manual_seed(seed)
        self.pool = [torch.randn(4, 6) for _ in range(4)]
        self.pool += [self.pool[0][:], self.pool[1].detach(), nn.Parameter(torch.randn(4, 6))]
        self.names = [self.pool[k] for k in (0, 1, 2)]

    def read(self):
        a, b, c = self.names
        total = torch.lerp(a, b, c) * 2
        total = total + a
        return total - b.mul(c).relu()

    def write(self):
        a, b, c = self.names
        first = a * 2
        with torch.no_grad():
            b.add_(first)
        return first + c

    def step(self):
        if self.choose.random() < 0.4:
            self.names[self.choose.randrange(3)] = self.choose.choice(self.pool)
        if self.choose.random() < 0.3:
            self.pool[self.choose.randrange(4)] = torch.randn(4, 6)
        run = self.choose.choice([self.read, self.read, self.read, self.write])
        out = choice.call(self.trace, run, (), {}) if self.is_matched else run()
        return [t.detach().clone() for t in (out, *self.pool)]


@pytest.mark.parametrize("seed", range(8))
def test_which_of_what_comes_in_is_the_same_memory(seed):
    eager, matched = Seen(seed, False), Seen(seed, True)
    random_state = torch.get_rng_state()
    for number in range(80):
        torch.set_rng_state(random_state)
        wanted = eager.step()
        torch.set_rng_state(random_state)
        found = matched.step()
        random_state = torch.get_rng_state()
        for place, (a, b) in enumerate(zip(wanted, found, strict=True)):
            assert same(a, b), (number, place)


def test_a_pass_begins_with_a_gradient_of_its_own_where_somebody_sees_it():
    w, seen = torch.ones(3, requires_grad=True), []

    def step(hooked):
        w.grad = None
        loss = (w * 2).sum()
        if hooked:
            loss.register_hook(lambda g: seen.append(g.mul_(5)))
        loss.backward()
        return loss

    trace = matching.Trace()
    for number in range(24):
        choice.call(trace, step, (number in (9, 10, 15, 16, 17),), {})
        assert w.grad.tolist() == ([10.0] * 3 if number in (9, 10, 15, 16, 17) else [2.0] * 3), number
    assert [g.item() for g in seen] == [5.0] * 5


def test_what_is_written_to_through_a_view_may_be_seen_by_what_comes_in_later():
    def run(a, b, later):
        before = a * 2
        a[1:].sub_(b[1:])
        return before, later * 1

    trace = matching.Trace()
    for number in range(24):
        memory = torch.rand(9)
        a, later = memory[:4], memory[5:] if number % 3 else memory[2:6]
        args = a.clone(), torch.rand(4), later.clone()
        if number < 12:
            a, later = args[0].clone(), args[2].clone()
        doubled = a * 2
        before, seen = choice.call(trace, run, (a, args[1], later), {})
        assert same(before, doubled), number
        assert same(seen, later), number


def test_memory_that_others_may_write_to_comes_in_twice_or_as_two():
    trace = matching.Trace()
    for number in range(12):
        a, b = torch.rand(4), torch.rand(4)
        a.numpy(), b.numpy()
        b = a if number < 6 else b
        assert same(choice.call(trace, torch.add, (a, b), {}), a + b), number
