"""A training step by matching: backward passes that are taken at once, optimizers that step in the segment,
other sizes of what is known.
"""

import copy
import threading

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from rushlight._engine.trace import choice, matching, updates, walks
from rushlight.nn import functional as F
from tests.engine.trace.test_matching import matched, same


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


def network(*more):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), *more, nn.Linear(8, 3))


def data(rows=4, calls=12):
    g = torch.Generator().manual_seed(1)
    return [(torch.randn(rows, 6, generator=g), torch.arange(rows) % 3) for _ in range(calls)]


class Loop:
    """A model, its optimizer, and what a step leaves."""

    def __init__(self, make, step):
        self.model = network()
        self.optimizer, self.way, self.calls, self.said = make(self.model), step, 0, []

    def step(self, x, y):
        self.calls += 1
        return self.way(self, x, y)

    def state(self):
        found = [*self.model.parameters(), *[p.grad for p in self.model.parameters()]]
        states = self.optimizer.state_dict()["state"].values()
        return found + [t for s in states for t in s.values() if isinstance(t, torch.Tensor)]


def plain(loop, x, y):
    loop.optimizer.zero_grad()
    loss = F.cross_entropy(loop.model(x), y)
    loss.backward()
    loop.optimizer.step()
    return loss


def clipped(loop, x, y):
    loss = F.cross_entropy(loop.model(x), y)
    loop.optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(loop.model.parameters(), 0.5)
    loop.optimizer.step()
    return norm


def read_between(loop, x, y):
    loop.optimizer.zero_grad()
    loss = F.cross_entropy(loop.model(x), y)
    loss.backward()
    loop.said.append(loss.item())
    loop.optimizer.step()
    loop.said.append(loop.model[0].weight.detach()[0, 0].item())
    return loss


def accumulated(loop, x, y):
    loop.optimizer.zero_grad()
    for a, b in zip(x.chunk(2), y.chunk(2), strict=True):
        (F.cross_entropy(loop.model(a), b) / 2).backward()
    loop.optimizer.step()
    return x.sum()


def twice(loop, x, y):
    loop.optimizer.zero_grad()
    loss = F.cross_entropy(loop.model(x), y)
    loss.backward(retain_graph=True)
    loss.backward()
    loop.optimizer.step()
    loop.optimizer.step()
    return loss


def looked_at(loop, x, y):
    loss = plain(loop, x, y)
    first = loop.model[0].weight
    loop.said.append((first.detach().view(-1)[:2] * 2).tolist())
    loop.said.append(next(iter(loop.optimizer.state_dict()["state"].values()), {}).get("step"))
    return loss


def groups(model):
    first, last = model[0].parameters(), model[-1].parameters()
    return torch.optim.AdamW([{"params": first, "weight_decay": 0.1}, {"params": last, "lr": 0.02}], lr=0.01)


OPTIMIZERS = {
    "SGD": lambda m: torch.optim.SGD(m.parameters(), lr=0.1),
    "momentum": lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True),
    "Adam": lambda m: torch.optim.Adam(m.parameters(), lr=0.01, foreach=True),
    "AdamW": lambda m: torch.optim.AdamW(m.parameters(), lr=0.01, fused=True),
    "NAdam": lambda m: torch.optim.NAdam(m.parameters(), lr=0.01),
    "RMSprop": lambda m: torch.optim.RMSprop(m.parameters(), lr=0.01, centered=True),
    "groups": groups,
}


@pytest.mark.parametrize("way", [plain, clipped, read_between, accumulated, twice, looked_at])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_leave_what_eager_ones_leave(name, way):
    eager, other = Loop(OPTIMIZERS[name], way), Loop(OPTIMIZERS[name], way)
    step = matched(other.step)
    for x, y in data():
        assert same(eager.step(x, y), step(x, y))
        assert all(map(same, eager.state(), other.state()))
    assert repr(eager.said) == repr(other.said)


def test_a_step_is_one_program(monkeypatch):
    done, asked = [], updates.Updates.update

    def update(self, plan, numbers):
        done.append(asked(self, plan, numbers))
        return done[-1]

    monkeypatch.setattr(updates.Updates, "update", update)
    loop = Loop(OPTIMIZERS["AdamW"], clipped)
    schedule = torch.optim.lr_scheduler.StepLR(loop.optimizer, 2, 0.5)
    step = matched(loop.step)
    for x, y in data():
        step(x, y)
        schedule.step()
    assert all(done[-4:])  # and what was put off was in the segment that the forward began
    settled = [node for node in step.trace.root.flushed.values() if node.programs]
    assert not settled


def test_a_step_that_refuses_its_input_has_not_been_taken():
    eager, other = Loop(OPTIMIZERS["AdamW"], plain), Loop(OPTIMIZERS["AdamW"], plain)
    step = matched(other.step)
    for x, y in data():
        eager.step(x, y)
        step(x, y)
    wrong = torch.full((4,), 7)
    for run in (eager.step, step):
        with pytest.raises(IndexError, match="Target 7 is out of bounds"):
            run(x, wrong)
    counts = [[s["step"].item() for s in o.optimizer.state_dict()["state"].values()] for o in (eager, other)]
    assert counts[0] == counts[1]
    assert all(map(same, eager.model.parameters(), other.model.parameters()))
    assert same(eager.step(x, y), step(x, y))
    assert all(map(same, eager.state(), other.state()))


def test_who_shares_a_parameters_memory_sees_the_step():
    loop = Loop(OPTIMIZERS["SGD"], plain)
    weight, step, seen = loop.model[0].weight, None, []

    def way(loop, x, y):
        before = loop.model[0].weight.data.numpy()[0, 0].copy()
        plain(loop, x, y)
        seen.append((before, kept[0, 0].copy(), alias[0, 0].item(), loop.model[0].weight[0, 0].item()))

    kept, alias = weight.detach().numpy(), weight.detach()
    loop.way = way
    step = matched(loop.step)
    for x, y in data():
        step(x, y)
    assert all(b == c == d and a != b for a, b, c, d in seen)


def test_a_pass_is_taken_at_once(monkeypatch):
    passes, asked = [], walks.walk
    loop = Loop(OPTIMIZERS["SGD"], plain)

    def walk(region, function, roots, keep, how):
        def counted(*args):
            passes.append(loop.calls)
            function(*args)

        asked(region, counted, roots, keep, how)

    monkeypatch.setattr(walks, "walk", walk)
    step = matched(loop.step)
    for x, y in data():
        step(x, y)
    assert passes and max(passes) < 7


@pytest.mark.parametrize("when", ["node", "leaf", "result", "freed"])
def test_what_is_done_to_a_graph_before_its_pass_is_noticed(when):
    def run(wrap):
        model, said = network(), []

        def step(x, y, special):
            for p in model.parameters():
                p.grad = None
            loss = F.cross_entropy(model(x), y)
            hidden = loss * 2
            handle = None
            if special and when == "node":
                hidden.grad_fn.register_hook(lambda *g: said.append(len(g)))
            elif special and when == "leaf":
                handle = model[0].weight.register_hook(lambda g: g * 3)
            elif special and when == "result":
                loss.register_hook(lambda g: said.append(g.item()))
            elif special:
                loss.backward()
            try:
                hidden.backward()
            except RuntimeError as error:
                said.append(str(error))
            if handle is not None:
                handle.remove()
            return [None if p.grad is None else p.grad.clone() for p in model.parameters()]

        called = wrap(step)
        found = [called(x, y, number % 5 == 4) for number, (x, y) in enumerate(data(calls=20))]
        return found, said

    (eager, first), (found, second) = run(lambda f: f), run(matched)
    assert repr(first) == repr(second)
    assert all(same(a, b) for e, f in zip(eager, found, strict=True) for a, b in zip(e, f, strict=True))


def test_nodes_made_in_another_order_are_another_pass():
    def run(wrap):
        x = torch.linspace(0.1, 1, 6).requires_grad_()

        def step(turned):
            x.grad = None
            if turned:
                b = x.exp()
                a = x.sin()
            else:
                a = x.sin()
                b = x.exp()
            ((a * 3).sum() + (b / 7).sum()).backward()
            return x.grad

        called = wrap(step)
        return [called(number % 3 == 1).clone() for number in range(18)]

    assert all(map(same, run(lambda f: f), run(matched)))


def test_another_size_costs_one_call():
    trace, loop = matching.Trace(), Loop(OPTIMIZERS["AdamW"], plain)
    cold = {}
    for rows in (4, 6, 5, 7):
        cold[rows] = 0
        for x, y in data(rows, 9):
            sample = choice.Sample(trace)
            sample.call(loop.step, (x, y), {})
            cold[rows] += sample.cold
    assert cold[4] <= 4 and cold[6] == cold[5] == cold[7] == 1


def test_sizes_in_turn_are_as_eager():
    eager, other = Loop(OPTIMIZERS["AdamW"], plain), Loop(OPTIMIZERS["AdamW"], plain)
    step = matched(other.step)
    inputs = [
        batch for batches in zip(*[data(rows, 8) for rows in (3, 5, 8)], strict=True) for batch in batches
    ]
    for x, y in inputs:
        assert same(eager.step(x, y), step(x, y))
        assert all(map(same, eager.state(), other.state()))


def test_a_copied_optimizer_is_another_and_a_loaded_state_is_taken():
    eager, other = Loop(OPTIMIZERS["AdamW"], plain), Loop(OPTIMIZERS["AdamW"], plain)
    step = matched(other.step)
    saved = None
    for number, (x, y) in enumerate(data(calls=16)):
        assert same(eager.step(x, y), step(x, y))
        if number == 6:
            saved = [copy.deepcopy(o.optimizer.state_dict()) for o in (eager, other)]
        if number == 9:
            for o, state in zip((eager, other), saved, strict=True):
                o.optimizer.load_state_dict(state)
        assert all(map(same, eager.state(), other.state()))


def test_eight_threads_on_one_compiled_model():
    model = network()
    called, wrong = torch.compile(model), []
    inputs = data(calls=24)
    expected = [model(x) for x, _ in inputs]

    def run(start):
        for k in range(start, start + 24):
            found = called(inputs[k % 24][0])
            if not same(found, expected[k % 24]):
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def zeroed(loop, x, y):
    loop.optimizer.zero_grad(set_to_none=False)
    loss = F.cross_entropy(loop.model(x), y)
    loss.backward()
    loop.optimizer.step()
    return loss


def test_the_first_steps_of_several_threads_come_at_once():
    begin, same_in, inputs = threading.Barrier(4), [], data(calls=12)

    def run(eager, other):
        step = torch.compile(other.step)
        begin.wait()
        if all(same(eager.step(x, y), step(x, y)) for x, y in inputs):
            same_in.append(step)

    # Made here: all draw from one generator.
    loops = [[Loop(OPTIMIZERS["AdamW"], way) for _ in range(2)] for way in (plain, zeroed) * 2]
    threads = [threading.Thread(target=run, args=pair) for pair in loops]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(same_in) == 4


def test_a_backward_pass_that_would_fail_is_no_error_of_the_call():
    weight = torch.ones(8).requires_grad_()

    def f(x):
        y = (x * weight).exp()
        with torch.no_grad():
            weight.mul_(1.5)
        return y

    called, x = torch.compile(f, mode="reduce-overhead"), torch.linspace(0, 1, 8)
    for number in range(5):
        assert torch.equal(called(x).detach(), (x * 1.5**number).exp())


def test_what_a_matched_call_does_anew_is_told(caplog):
    class Steps:
        calls = 0

        def __call__(self, x):
            self.calls += 1
            y = (x * 2).tanh() @ x
            return y + 1 if self.calls == 40 else y

    steps = Steps()
    called = torch.compile(steps)
    called._runner.trace.faster = 1  # so that it is matched without a trial
    with caplog.at_level("INFO", "rushlight.trace.recompiles"):
        for _ in range(39):
            called(torch.ones(4, 4))
        assert not caplog.messages
        called(torch.ones(4, 4))
    assert any("does what no call before did, from " in message for message in caplog.messages)


def test_gradients_that_a_program_holds_stay_as_they_are():
    def gradients(how):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)

        def step(x):
            optimizer.zero_grad()
            loss = model(x).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        call, held = how(step), []
        for k in range(9):
            call(torch.randn(3 if k < 6 else 5, 4))
            held += [p.grad for p in model.parameters()] if k != 4 else []
        return [g.tolist() for g in held]

    assert gradients(torch.compile) == gradients(lambda step: step)
