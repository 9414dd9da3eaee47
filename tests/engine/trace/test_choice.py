"""What compile() decides on, and that what it decides against costs nothing later."""

import gc
import itertools
import weakref

import numpy as np
import pytest

import rushlight as torch
from rushlight._engine.core.settings import on_change, settings
from rushlight._engine.kernels.runtime import stages
from rushlight._engine.tensors import tensor
from rushlight._engine.trace import choice, matching, stage_planning
from rushlight._engine.trace.compiled import _RESTS, AT_ONCE, Compiled
from rushlight._engine.trace.guards import key_of, outline
from rushlight._engine.trace.sizes.families import MOST


def decided(monkeypatch, by_matching, eagerly):
    """What calls of these times, in turn, lead to, and after how many."""
    now = [0.0]
    times = {True: itertools.cycle(by_matching), False: itertools.cycle(eagerly)}

    class Sample(choice.Sample):
        def call(self, function, args, kwargs):
            self.seconds = next(times[self.trace is not None])
            return now

    monkeypatch.setattr(choice, "Sample", Sample)
    found = choice.Choice()
    for calls in range(1, 60):
        found.call(matching.Trace(), lambda: None, (), {})
        if found.until > 2:
            return found.matches, calls
    raise AssertionError("nothing was decided")


@pytest.mark.parametrize(
    ("by_matching", "eagerly", "matches", "most"),
    [
        ([1.0], [2.0], True, 12),
        ([2.0], [1.0], False, 12),
        ([1.0, 9.0, 9.0, 9.0, 9.0, 9.0], [1.05], True, 40),  # a busy machine
        ([9.0, 9.0, 9.0, 1.0], [9.0, 9.0, 1.1, 9.0], True, 40),
        ([1.05], [1.2, 1.0], False, 40),
        ([1.1], [1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.05], True, 40),  # one is luck
    ],
)
def test_the_faster_way_is_taken(monkeypatch, by_matching, eagerly, matches, most):
    found, calls = decided(monkeypatch, by_matching, eagerly)
    assert found is matches and calls <= most


@pytest.fixture
def races(monkeypatch):
    """Replays are timed, after two; `took` says how long calls take: replays, and others."""
    took = {True: 1.0, False: 2.0}

    class Sample(choice.Sample):
        def call(self, function, args, kwargs):
            self.seconds = took[isinstance(function, Compiled)]
            return function(*args, **kwargs)

    monkeypatch.setattr(choice, "REPLAYS", 2)
    monkeypatch.setattr(choice, "Sample", Sample)
    return took


@pytest.mark.parametrize("quick", [True, False])
def test_replays_are_compared_with_eager_calls(races, quick):
    races[True] = 1.0 if quick else 3.0
    model = torch.nn.Linear(3, 3)
    compiled = torch.compile(model)
    x = torch.randn(2, 3)
    for _ in range(40):
        model.zero_grad()
        out = compiled(x)
        out.sum().backward()
        assert torch.equal(out, model(x)) and torch.equal(model.bias.grad, torch.full((3,), 2.0))
    plan = _plan(compiled)
    assert plan.ready and plan.race.replays is quick and plan.race.wait > 64
    assert (plan.replays > 20) is quick


def test_what_gains_nothing_is_handed_on(races):
    races[True] = 3.0
    compiled = torch.compile(lambda x: x * 2)
    runner = compiled._runner
    x = torch.randn(4)
    for _ in range(40):
        assert torch.equal(compiled(x), x * 2)
    assert next(runner.rests, "ended") is None  # the next calls do not come to the runner
    with torch.compiler.set_stance("fail_on_recompile"), pytest.raises(RuntimeError, match="recompile"):
        compiled(torch.randn(5))
    for _ in range(2 * _RESTS):  # a kind that comes again and again is noticed
        assert torch.equal(compiled(torch.ones(6)), torch.full((6,), 2.0))
    assert len(runner.plans) == 2
    torch.compiler.reset()
    assert next(runner.rests, "ended") == "ended" and not runner.plans


def test_who_asks_whether_it_is_compiled_is_always_told(races):
    races[True] = 3.0
    compiled = torch.compile(lambda x: x * 2 if torch.compiler.is_compiling() else x)
    for _ in range(60):
        assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]


def test_a_kind_that_gains_keeps_others_from_being_handed_on(races):
    compiled = torch.compile(lambda x: (x * 2).relu())
    for n in (2, 3):
        races[True] = 1.0 if n == 2 else 3.0
        for _ in range(40):
            assert torch.equal(compiled(torch.ones(n)), torch.full((n,), 2.0))
    assert [p.race.replays for p in compiled._runner.plans.values()] == [True, False]
    assert next(compiled._runner.rests, "ended") == "ended"


def asked_for():
    """Whether something answers for the empty slots of tensors."""
    return "__getattr__" in torch.Tensor.__dict__ or torch.Tensor.__dict__["_array"] is not tensor.ARRAY


def test_calls_may_take_no_time_that_a_clock_tells():
    trace, kind = matching.Trace(), choice.Choice()
    for by_matching, eagerly in ((0.0, 0.0), (0.0, 1.0)):
        kind._samples = {True: [by_matching], False: [eagerly]}
        kind._decide(True, trace)
        assert 0 <= trace.gain < 1


def test_tensors_are_as_quick_after_a_decision_against_matching(monkeypatch):
    monkeypatch.setattr(tensor, "_lasting", [])
    trace, x = matching.Trace(), torch.randn(3)
    made = choice.Choice()
    choice.call(trace, torch.exp, (x,), {})
    assert asked_for()
    made._decide(True)
    assert asked_for()
    made._decide(False)
    assert not asked_for()
    for _ in range(6):
        assert torch.equal(choice.call(trace, lambda x: (x * 2).relu(), (x,), {}), (x * 2).relu())
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        x.nothing
    made._decide(False)
    y = torch.randn(3, dtype=torch.complex64).conj()
    made._decide(False)
    assert asked_for()
    assert y.conj().real.tolist() == y.real.tolist()
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        x.nothing


def test_many_kinds_are_learnt_by_and_by():
    now, function = matching.Trace(), torch.exp
    kinds = [choice.Choice() for _ in range(40)]
    for _ in range(10):
        for n, kind in enumerate(kinds):
            kind.call(now, function, (torch.ones(n + 1),), {})
    cold = [kind._cold for kind in kinds]
    assert now.kinds == 40 and all(kind.until > 2 or kind._cold for kind in kinds[:2])
    assert sum(cold[2:]) < 40  # all of them would be some two hundred


def test_what_does_something_new_at_each_call_is_given_up():
    now, kind = matching.Trace(), choice.Choice()
    steps = iter(range(1000))

    def restless(x):
        for _ in range(next(steps) % 37):
            x = x + 1
        return x * 2

    new = 0
    for _ in range(200):
        before, x = kind._new, torch.ones(3)
        kind.call(now, restless, (x,), {})
        new += kind._new > before
    assert kind._given_up and not kind.matches
    assert new <= 2 * choice._NEW + 2


def test_what_is_learnt_in_vain_is_tried_ever_more_seldom(monkeypatch):
    tried = []

    class Sample(choice.Sample):
        def call(self, function, args, kwargs):
            matched = self.trace is not None
            self.seconds, self.cold, self.new, self.warm = 1.0 + 4 * matched, matched, matched, not matched
            tried.append(matched)

    monkeypatch.setattr(choice, "Sample", Sample)
    now, kind = matching.Trace(), choice.Choice()
    for calls in range(1, 20001):
        kind.call(now, lambda: None, (), {})
        if calls == 500:
            first = sum(tried)
    assert first > choice._NEW and first < sum(tried) < 5 * first  # it is tried again
    assert sum(tried) * 4 < 0.02 * calls
    assert len(tried) < 0.05 * calls  # the others are not even timed


def test_what_has_effects_at_one_size_is_not_recorded_at_others():
    class Counting(torch.nn.Module):
        calls = 0

        def forward(self, x):
            self.calls += 1
            return x * 2

    model = torch.compile(Counting())
    for size in range(1, 6):
        for _ in range(3):
            assert model(torch.ones(size)).tolist() == [2.0] * size
    plans = list(model._runner.plans.values())
    assert model.calls == 15 and len(plans) == 5 and all("is stored" in p.refusal for p in plans)
    assert [p.seconds > 0 for p in plans] == [True, False, False, False, False]


class Shifted(torch.nn.Linear):
    """A layer whose kernels are others at each size, so that no program is made of others' (sizes/)."""

    def forward(self, x):
        return super().forward(x) * (1 + 1 / x.shape[0])


def test_other_sizes_wait_for_programs_until_these_would_have_paid():
    model = torch.compile(Shifted(3, 3))

    def called(rows, times):
        for _ in range(times):
            x = torch.randn(rows, 3)
            assert torch.equal(model(x), model._orig_mod(x))
        return [p for p in model._runner.plans.values() if p.outline is not None][-1]

    for _ in range(2):  # what comes once, at any size, has no program
        for rows in range(2, 6):
            called(rows, 1)
    first = called(2, 2)
    assert [p.ready for p in model._runner.plans.values()] == [True, False, False, False]
    for rows in range(3, 2 + MOST):  # the first few have it as soon as they have come again
        called(rows, 3)
    assert [p.ready for p in model._runner.plans.values()] == [True] * MOST
    other = called(20, 3)
    assert not other.ready and not other.program and other.calls == 1
    leader = next(iter(model._runner.plans.values()))
    other.worked = leader.learnt / model._runner.trace.gain + 1
    assert called(20, 4).ready and first is not other


def test_of_many_sizes_few_have_programs():
    model = torch.compile(Shifted(3, 3))
    sizes = [2, 2, 2, 2, *range(3, 3 + 4 * AT_ONCE)]
    for rows in (*sizes, *sizes[4:], *sizes[4:]):
        model(torch.randn(rows, 3))
    assert sum(p.ready for p in model._runner.plans.values()) <= MOST


def test_integers_and_sizes_are_all_that_an_outline_leaves_out():
    def of(*args):
        return outline(key_of(args, {})[1])

    x = torch.ones(2, 3)
    assert of(x, 3) == of(torch.ones(4, 5), 7) == of(torch.ones(3, 2).T, 0)
    for other in (x.double(), torch.ones(2), x.clone().requires_grad_(), 1.0):
        assert of(other, 3) != of(x, 3)
    assert of(x, True) != of(x, False) and of(x, 2.0) != of(x, 3.0)


@pytest.mark.skipif(settings.kernels == "numpy", reason="there are no tiers")
def test_plans_of_eager_calls_live_on_while_others_are_learnt():
    """What records and compiles asks for kernels at once, and changes no setting: that drops all plans."""
    dropped: list[int] = []

    def forget():
        dropped.append(1)

    def step(x):
        y = (x * 2).exp().sum()
        return y * float(y > 0)

    x = torch.ones(300)
    with settings.using(kernels="auto"):
        step(x)
        on_change.append(forget)
        try:
            runner = torch.compile(step)
            trace = matching.Trace()
            for _ in range(6):
                runner(x)
                choice.call(trace, step, (x,), {})
            assert trace.compiled and not dropped
        finally:
            on_change.remove(forget)


def _plan(compiled):
    return next(reversed(compiled._runner.plans.values()))


@pytest.mark.parametrize("backwards", [False, True])
def test_other_sizes_are_recorded_once_and_compared_with_that_record(backwards):
    def made():
        torch.manual_seed(3)
        layers = torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 4), torch.nn.Dropout(0.4), torch.nn.GELU()
        return torch.nn.Sequential(*layers)

    eager, own = made(), made()
    compiled = torch.compile(own)
    for size in (5, 3, 7, 2, 64):
        for call in range(5):
            x = torch.randn(size, 4)
            found = []
            for model in (eager, compiled):
                torch.manual_seed(call)
                with torch.set_grad_enabled(backwards):
                    out = model(x)
                    if backwards:
                        out.sum().backward()
                found.append((out, torch.rand(2)))
            assert all(map(torch.equal, *found))
            assert all(map(torch.equal, eager.buffers(), own.buffers()))
            if backwards:
                assert all(torch.equal(p.grad, q.grad) for p, q in zip(eager.parameters(), own.parameters()))
            if size in (3, 7, 2):
                assert _plan(compiled).ready == (call > 0)
    assert [p.replays for p in compiled._runner.plans.values()] == [2, 3, 3, 3, 3]


def test_a_size_at_which_other_things_are_done_is_recorded_twice():
    @torch.compile
    def step(x):
        return (x * 2 if x.shape[0] > 1 else x + 1).cumsum(0)

    for size in (4, 1, 3):
        for call in range(5):
            x = torch.randn(size)
            assert torch.equal(step(x), (x * 2 if size > 1 else x + 1).cumsum(0))
            # Of another path than the one that was expected there is no record the first time.
            assert _plan(step).ready == (call >= (3 if size == 1 else 2))


def test_what_writes_to_other_memory_at_a_size_is_recorded_twice():
    first, second = torch.zeros(()), torch.zeros(())

    @torch.compile
    def step(x):
        (first if x.shape[0] > 3 else second).add_(1)
        return x * 2

    for size in (4, 5, 3):
        for _ in range(5):
            assert torch.equal(step(torch.ones(size)), torch.full((size,), 2.0))
    assert first.item() == 10 and second.item() == 5


@pytest.mark.skipif(settings.kernels == "numpy", reason="there are no stages")
def test_a_program_at_another_size_that_gives_other_bits_is_refused(monkeypatch):
    step = torch.compile(lambda x: (x * 2).exp())
    for _ in range(4):
        step(torch.ones(4))
    assert _plan(step).ready

    def wrong(entry, scratch):
        return stages.copy(entry.outs[0], np.array(7, np.float32))

    monkeypatch.setattr(stage_planning, "staged", wrong)
    for _ in range(5):
        assert torch.equal(step(torch.ones(5)), (torch.ones(5) * 2).exp())
    assert "depends on something" in _plan(step).refusal


def _normal(x):
    return torch.nn.functional.layer_norm(x * x.shape[0], x.shape[1:]).relu() + x.sum(0)


def _attending(x):
    return (x @ x.mT / (x.shape[-1] ** 0.5 + 1)).softmax(-1) @ x + x.mean(0, keepdim=True)


def _moving(x):
    turned = x.t().flip(0).contiguous()
    return torch.cat([turned.reshape(x.shape), x.clone()], 1).cumsum(1), turned.view(-1)[: x.shape[0]] * 2


@pytest.mark.parametrize("function", [_normal, _attending, _moving])
@pytest.mark.parametrize("sizes", [(5, 1), (0, 3), (1, 48)])
def test_results_at_other_sizes_have_the_same_bits(function, sizes):
    compiled = torch.compile(function)
    torch.manual_seed(1)
    for size in sizes:
        whole = torch.randn(size, 6)
        turned = torch.randn(6, size).t()  # another kind, of the same outline
        for x in (whole, turned, whole + 1, turned, whole, turned):
            wanted, found = function(x), compiled(x)
            for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (wanted, found)]):
                assert a.nan_to_num(7.0).equal(b.nan_to_num(7.0)) and a.isnan().equal(b.isnan())
                assert a.stride() == b.stride()


class _Held:
    """A method whose function the guards do not know before it runs."""

    def address(self, x):
        return float(id(x) % 9973)


_HELD = _Held()


def test_what_an_address_gives_at_another_size_is_recorded_twice():
    @torch.compile
    def step(x):
        return x * (_HELD.address(x) if x.shape[0] > 3 else 2.0)

    held = []
    for size in (3, 5):
        for _ in range(5):
            x = torch.ones(size)
            held.append(x)  # so that each has an address of its own
            assert step(x)[0].item() == (id(x) % 9973 if size > 3 else 2)
    assert [p.ready for p in step._runner.plans.values()] == [True, False]


def test_what_was_recorded_is_forgotten_by_reset():
    factor = [1.0, bytearray(1)]
    step = torch.compile(lambda x: x * factor[0])
    for size in (3, 4):
        for _ in range(4):
            step(torch.ones(size))
    assert all(p.refusal for p in step._runner.plans.values())
    torch.compiler.reset()
    factor.pop()
    for size in (5, 6):
        for _ in range(4):
            assert torch.equal(step(torch.ones(size)), torch.ones(size))
    assert all(p.ready for p in step._runner.plans.values())


def test_a_program_whose_guards_have_failed_is_not_kept():
    factor = [1.0]
    step = torch.compile(lambda x: x * factor[0])
    for _ in range(5):
        step(torch.ones(4))
    old = weakref.ref(_plan(step).program)
    assert old() is not None and _plan(step).ready
    factor[0] = 2.0
    assert torch.equal(step(torch.ones(4)), torch.full((4,), 2.0))
    gc.collect()
    assert old() is None


def test_learning_that_takes_far_longer_than_eager_calls_is_given_up():
    trace, kind = matching.Trace(), choice.Choice()
    kind._number, kind._samples[False] = 1, [1.0]
    for count in range(1, 12):
        assert not kind._given_up
        last = kind._last = choice.Sample(trace)
        last.seconds, last.warm, last.cold = 8.0, False, True
        kind._note(trace)
        assert kind._cold == count or count == 11
    assert kind._given_up and not kind.matches
    # It is tried again once what it took is a small share.
    assert trace.learnt == 88.0 and not kind._may_learn(trace)
    trace.worked = 2400.0
    assert kind._may_learn(trace)
