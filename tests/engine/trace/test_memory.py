"""What compiled calls keep in memory, and how little of it at one time."""

import copy
import gc
import os
import sys
import threading
import weakref

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from rushlight._engine.tensors.storages.memory_pages import Range
from rushlight._engine.trace import compiled as compiled_calls, program, segment
from rushlight._engine.trace.passes.memory import RESTING, _lives, uncollected, vacate
from rushlight.nn import functional as F
from tests.engine.trace.test_matching import compiled, matched, same
from tests.engine.trace.test_segments import programs


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


def test_a_range_is_larger_than_what_is_written_to():
    memory = Range(1 << 36).at(100)
    memory[:100] = 7
    assert memory[:100].sum() == 700
    assert sys.platform != "linux" or memory.size == 1 << 36


def test_a_range_forgets_and_does_not_move():
    memory = Range(1 << 30)
    held = memory.at(1 << 20)
    held[: 1 << 20] = 7
    memory.forget()
    assert memory.at(100) is held and (sys.platform != "linux" or not held[: 1 << 20].any())
    held[: 1 << 20] = 7
    assert held[: 1 << 20].min() == 7


def training(width=256):
    torch.manual_seed(0)
    layers = [nn.Linear(64, width), nn.ReLU(inplace=True)]
    for _ in range(3):
        layers += [nn.Linear(width, width), nn.ReLU(inplace=True)]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return model, step


def test_results_lie_in_memory_that_is_handed_out_later():
    (first, eager), (second, own) = training(), training()
    function, held = matched(own), []
    for number in range(12):
        x = torch.randn(80, 64)
        assert same(function(x), eager(x))
        grads = [p.grad for p in second.parameters()]
        assert all(map(same, grads, [p.grad for p in first.parameters()]))
        if number == 6:
            assert any(p.made.plan.borrowed for p in programs(function.trace) if p.made is not None)
        if number in (7, 8):  # what somebody keeps is not written to
            held += [(g, g.clone()) for g in grads]
    assert all(same(g, values) for g, values in held)


def classifying(words):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.Linear(24, words))

    def step(x, y):
        model.zero_grad()
        loss = F.cross_entropy(model(x).exp().clamp_max(5.0), y)
        loss.backward()
        return loss, *[p.grad for p in model.parameters()]

    return step


@pytest.mark.parametrize("words", [900, 1003])
def test_results_are_written_over_what_is_read_no_longer(words):
    eager, own = classifying(words), classifying(words)
    function = matched(own)
    for _ in range(8):
        x, y = torch.randn(40, 16), torch.randint(words, (40,))
        assert all(map(same, function(x, y), eager(x, y)))
    (made,) = [p.made for p in programs(function.trace) if p.made is not None]
    assert made.plan.heirs
    assert all(made.plan.places[heir] == made.plan.places[key] for heir, key in made.plan.heirs.items())


def test_memory_that_programs_need_only_while_they_run_is_given_back():
    (first, eager), (second, own) = training(), training()
    function, held = matched(own), []
    for _ in range(10):
        x = torch.randn(80, 64)
        assert same(function(x), eager(x))
        grads = [p.grad for p in second.parameters()]
        held += [(grads[2], grads[2].clone())]
        vacate(function.trace.made)
        assert all(map(same, grads, [p.grad for p in first.parameters()]))
    assert all(same(g, values) for g, values in held)


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was_when_a_segment_has_been_compiled(enabled):
    _, step = training(32)
    function, was = matched(step), gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        for _ in range(8):
            function(torch.randn(4, 64))
        assert gc.isenabled() is enabled
        assert any(p.made is not None for p in programs(function.trace))
    finally:
        (gc.enable if was else gc.disable)()


def test_copies_that_nobody_writes_to_are_left_out():
    _, step = training()
    function = matched(step)
    for _ in range(6):
        function(torch.randn(80, 64))
    (made,) = [p.made for p in programs(function.trace) if p.made is not None]
    assert "clone" not in [e.name for e in made.entries]


def test_a_model_that_was_copied_is_stepped_in_one_program():
    def build():
        torch.manual_seed(0)
        model = copy.deepcopy(nn.Sequential(nn.Linear(8, 6), nn.BatchNorm1d(6), nn.ReLU()))
        return model, (lambda x: model(x).square().sum())

    (first, eager), (second, own) = build(), build()
    function = matched(own)
    for _ in range(6):
        x = torch.randn(4, 8)
        assert same(function(x), eager(x))
    assert all(map(same, first.buffers(), second.buffers()))
    assert compiled(function.trace) == 1
    assert not [why for why in function.trace.reasons if "memory is written" in why]


def test_bytes_that_somebody_holds_are_up_to_date():
    model = copy.deepcopy(nn.BatchNorm1d(3))
    memory = model.num_batches_tracked.untyped_storage()
    said = []

    def run(x):
        model(x)
        said.append(memory.tolist()[0])

    function = matched(run)
    for _ in range(5):
        function(torch.randn(4, 3))
    assert said == [1, 2, 3, 4, 5]


def test_much_memory_is_not_recorded(monkeypatch):
    monkeypatch.setattr(compiled_calls, "ROOM", 1000)

    def run(x):
        y = (x + 1).sin()
        y.mul_(2)
        return y.sum()

    function = torch.compile(run)
    for _ in range(5):
        x = torch.ones(300)
        assert same(function(x), run(x))
    (plan,) = function._runner.plans.values()
    assert "more memory than a record may keep" in plan.refusal and plan.program is None


def test_a_thread_beside_a_recorded_call_gets_its_gradients():
    leaf = torch.ones(3, requires_grad=True)

    def beside():
        (leaf * 2).sum().backward()

    def run(x):
        other = threading.Thread(target=beside)
        other.start()
        other.join()
        return F.relu(x) * 2

    function = torch.compile(run, mode="reduce-overhead")
    for _ in range(3):
        function(torch.randn(4))
    assert leaf.grad.tolist() == [6, 6, 6]


@pytest.mark.parametrize("replayed", [False, True])
def test_programs_keep_nothing_of_the_memory_that_they_were_recorded_on(replayed, monkeypatch):
    """What is made meanwhile lies in the arena once there is a plan of it."""
    once, plan = [], (program if replayed else segment).ArenaLayout

    def layout(entries, *args):
        made = plan(entries, *args)
        once.extend(
            [weakref.ref(memory) for key, (memory, *_) in _lives(entries).items() if key in made.places]
        )
        return made

    monkeypatch.setattr(program if replayed else segment, "ArenaLayout", layout)
    _, step = training()
    run = torch.compile(step) if replayed else matched(step)
    x = torch.randn(64, 64)
    for _ in range(16):
        run(x)
    gc.collect()
    assert once and [*filter(None, [memory() for memory in once])] == []


def test_a_call_of_which_too_much_would_be_kept_collects_its_garbage(monkeypatch):
    monkeypatch.setattr(compiled_calls, "ROOM", 1000)

    class Held:
        """Something in a cycle, which only the collector frees."""

        def __init__(self):
            self.own = self

    def run(x):
        y = x
        alive, most = weakref.WeakSet(), 0
        for _ in range(400):
            y = y + 1
            held = [Held() for _ in range(20)]
            alive.update(held)
            most = max(most, len(alive))
        counts.append(most)
        return y

    counts = []
    function = torch.compile(run)
    for _ in range(3):
        function(torch.ones(300))
    assert len(counts) == 3 and max(counts) < 4000


@pytest.mark.parametrize(("switch", "wanted"), [(bool, True), (gc.disable, False), (gc.enable, True)])
def test_the_collectors_switch_is_the_programs_while_it_rests(switch, wanted):
    def step(x):
        switch()
        seen.append(gc.isenabled())
        return (x * 2).sum().item()

    was, thresholds, seen = gc.isenabled(), gc.get_threshold(), []
    try:
        gc.enable()
        function = torch.compile(step)
        for _ in range(3):
            function(torch.ones(3))
        assert gc.isenabled() is wanted and gc.get_threshold() == thresholds
        assert seen == [wanted] * 3
    finally:
        (gc.enable if was else gc.disable)()


def test_the_collector_rests_until_the_last_who_asked_for_it():
    thresholds = gc.get_threshold()
    with pytest.raises(ValueError, match="this"), uncollected() as resume:
        with uncollected():
            assert gc.get_threshold()[0] == RESTING.NEVER
            resume()
            resume()
            assert gc.get_threshold()[0] == RESTING.NEVER
        assert gc.get_threshold() == thresholds
        raise ValueError("this")
    assert gc.get_threshold() == thresholds
    try:
        with uncollected():
            gc.set_threshold(thresholds[0] + 1, *thresholds[1:])
        assert gc.get_threshold()[0] == thresholds[0] + 1
    finally:
        gc.set_threshold(*thresholds)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_process_collects_though_a_thread_of_its_parent_did_not():
    thresholds = gc.get_threshold()
    with uncollected():
        child = os.fork()
        if not child:
            os._exit(gc.get_threshold() != thresholds)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert gc.get_threshold()[0] == RESTING.NEVER
    assert gc.get_threshold() == thresholds


def test_the_collector_rests_while_a_segment_is_learnt_and_as_long_as_little_is_recorded():
    def step(x, small):
        y = (x * 2).sum()
        seen.append(gc.get_threshold()[0] == RESTING.NEVER)
        z = small * y  # what is recorded after much may be garbage that waits
        seen.append(gc.get_threshold()[0] == RESTING.NEVER)
        return z

    thresholds, seen = gc.get_threshold(), []
    function = matched(step)
    for elements, calls in ((300, 4), (5_000_000, 1), (400, 4)):
        for _ in range(calls):
            function(torch.ones(elements), torch.ones(3))
            assert gc.get_threshold() == thresholds
    first, large = seen[:8], seen[8:10]
    assert first[:4] == [True] * 4 and not any(seen[-2:])
    assert large == [True, True]
    with pytest.raises(ZeroDivisionError):
        matched(lambda x: x.exp() / (1 // 0))(torch.ones(3))
    assert gc.get_threshold() == thresholds


def test_a_program_sets_the_collectors_thresholds_while_it_rests():
    """Also those that it has read meanwhile, after the rest is over."""

    def restoring(x):
        y = x * 2
        before = gc.get_threshold()
        gc.set_threshold(100)
        z = float(y.sum())
        gc.set_threshold(*before)
        return y * z

    def never(x):
        y = x * 2
        gc.set_threshold(0)
        return y

    thresholds = gc.get_threshold()
    try:
        for step, wanted in ((restoring, thresholds), (never, (0, *thresholds[1:]))):
            function = matched(step)
            for _ in range(4):
                function(torch.ones(3))
                assert gc.get_threshold() == wanted
    finally:
        gc.set_threshold(*thresholds)
