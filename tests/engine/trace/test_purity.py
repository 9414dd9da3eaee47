"""Default mode replays what provably has no effects in Python, and runs the rest at every call."""

import contextvars
import cProfile
import functools
import math
import random
import subprocess
import sys
import time

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.recording import FOLLOWERS
from rushlight._engine.core.settings import settings
from rushlight._engine.dispatch import overrides
from rushlight._engine.trace.effects.purity import Watch, watched
from rushlight._engine.trace.guards import Guards
from rushlight._engine.trace.recorder import Recorder, recording
from rushlight.nn import functional as F

COUNT = 0
SEEN = []
FLAG = True


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


def report(function, *args, times=6, **options):
    compiled = torch.compile(function, **options)
    for _ in range(times):
        compiled(*args)
    return str(torch.explain(compiled))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.scale, self.act = 2.0, F.relu

    def forward(self, x, *, twice=False):
        hidden = []
        for i, layer in enumerate(self.layers):
            x = self.act(layer(x)) * self.scale + (1 if i % 2 else math.sqrt(4))
            hidden.append(x)
        x = torch.cat([h * 0.5 for h in hidden], -1)
        return (x, x) if twice else x


def test_a_plain_module_is_replayed():
    net = Net()
    x = torch.randn(2, 4)
    with torch.no_grad():
        assert "replayed 3 times" in report(net, x)
    assert "replayed 3 times" in report(net, x)


def test_a_training_step_is_replayed():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(net.parameters())

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    assert "replayed 3 times" in report(step, torch.randn(5, 4), torch.tensor([0, 1, 1, 0, 1]))


def test_attributes_of_modules_are_guarded():
    net = Net()
    x = torch.randn(2, 4)
    compiled = torch.compile(net)
    for change in (
        lambda: None,
        lambda: setattr(net, "scale", 3.0),
        lambda: setattr(net, "act", torch.tanh),
        lambda: net.layers.pop(0),
        lambda: net.layers[0].weight.requires_grad_(False),
    ):
        change()
        for _ in range(5):
            assert torch.equal(compiled(x), net(x))
            assert compiled(x).requires_grad
    assert "replayed" in str(torch.explain(compiled))


def counting(x):
    global COUNT
    COUNT += 1
    return x * COUNT


OPTIMIZER = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.5)
CASES = {
    "a global is stored": counting,
    "append() is called": lambda x: SEEN.append(1) or x * len(SEEN),
    "print() is called": lambda x: print("hello") or x * 2,
    "random() is called": lambda x: x * random.random(),
    "time() is called": lambda x: x * (time.time() % 2),
    "Random.getrandbits() is called": lambda x: x * random.choice([1, 2]),
    "state is read": lambda x: x * (1 + len(OPTIMIZER.state)),
    "param_groups is read": lambda x: x * getattr(OPTIMIZER, "param_groups")[0]["lr"],
    "manual_seed is asked for": lambda x: torch.manual_seed(3) and torch.rand(2) * x,
}


@pytest.mark.parametrize("what", CASES)
def test_effects_keep_a_function_as_it_is(what, capsys):
    found = report(CASES[what], torch.ones(2))
    assert "eager:" in found and "replayed" not in found
    assert what in found or "which may change unseen" in found, found


def test_effects_of_programs_without_a_file_are_seen(capsys):
    names = {}
    exec("def f(x):\n    print('called')\n    return (x * 2).sum()", names)
    assert "print() is called" in report(names["f"], torch.ones(3))
    assert capsys.readouterr().out.count("called") >= 6


def test_effects_happen_at_every_call():
    global COUNT
    COUNT = 0
    compiled = torch.compile(counting)
    assert [compiled(torch.ones(1)).item() for _ in range(6)] == [1, 2, 3, 4, 5, 6]

    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    module = Counting()
    compiled = torch.compile(module)
    assert [compiled(torch.ones(1)).item() for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    assert "an attribute is stored" in str(torch.explain(compiled))


def test_data_dependent_branches():
    def f(x):
        return x * 2 if x.sum() > 0 else x - 1

    compiled = torch.compile(f)
    for x in (torch.ones(2), -torch.ones(2)) * 3:
        assert torch.equal(compiled(x), f(x))
    with pytest.raises(RuntimeError, match="fullgraph=True.*test_purity.py"):
        report(f, torch.ones(2), fullgraph=True)


def test_fullgraph_is_about_the_graph_alone():
    assert "a global is stored" in report(counting, torch.ones(2), fullgraph=True)


def test_globals_and_hooks_are_guarded():
    global FLAG
    net = nn.Linear(2, 2)

    def f(x):
        return net(x) if FLAG else x

    compiled, x = torch.compile(f), torch.ones(1, 2)
    for value in (True, False):
        FLAG = value
        for _ in range(5):
            assert torch.equal(compiled(x), f(x))
    FLAG, calls = True, []
    handle = net.register_forward_hook(lambda *args: calls.append(1))
    for _ in range(5):
        compiled(x)
    assert len(calls) == 5
    handle.remove()


@pytest.mark.parametrize("held", [False, True])
def test_two_functions_of_one_code_are_both_guarded(held):
    def scaled(function):
        factor = 2.0

        def inner(x):
            return function(x) * factor

        def change():
            nonlocal factor
            factor = 3.0

        return inner, change

    once, change = scaled(torch.sin)
    twice, _ = scaled((lambda x, known={"it": once}: known["it"](x)) if held else once)
    compiled, x = torch.compile(twice), torch.randn(8)
    for _ in range(6):
        assert torch.equal(compiled(x), twice(x))
    assert "replayed 3 times" in str(torch.explain(compiled))
    change()
    assert torch.equal(compiled(x), twice(x))


def test_default_arguments_are_seen():
    def f(x, seen=[]):  # noqa: B006
        seen.append(1)
        return x * len(seen)

    compiled = torch.compile(f)
    assert [compiled(torch.ones(1)).item() for _ in range(5)] == [1, 2, 3, 4, 5]


def test_what_garbage_collection_calls_is_not_the_functions_doing():
    import gc

    def called(phase, info):
        global COUNT
        COUNT += 1
        print(end="")

    thresholds = gc.get_threshold()
    gc.callbacks.append(called)
    gc.set_threshold(1)
    try:
        text = report(lambda x: torch.relu(x * 2) + [[v] for v in (1, 2)][0][0], torch.randn(4))
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(called)
    assert gc.isenabled() and "global" not in text


def test_a_profiler_in_c_goes_on_after_a_recording():
    profile = cProfile.Profile()
    compiled, x = torch.compile(lambda x: [x * 2, x + 1]), torch.ones(3)
    profile.enable()
    for _ in range(4):
        compiled(x)
    profile.disable()
    assert len(compiled._runner.plans) == 1 and any("compiled" in str(row.code) for row in profile.getstats())


class Config:
    shift = 0.0

    def __init__(self):
        self.factor, self.sizes, self.names = 2.0, [1, 2], {"a": [1.0]}


@functools.lru_cache(maxsize=8)
def settings_of(name):
    return Config()


def decorated(function):
    def wrapper(self, *args, **kwargs):
        kwargs.pop("unused", None)
        return function(self, *args, **kwargs)

    return wrapper


class Configured(nn.Module):
    def __init__(self):
        super().__init__()
        self.config, self.stages = Config(), [{"width": 2}, {"width": 3}]

    @decorated
    def forward(self, x):
        found = {}
        for k, stage in enumerate(self.stages):
            found[k] = x * stage["width"]
        if self.config.factor < 0:
            self.config.factor = 0.0
            SEEN.append(1)
        total = sum(self.config.sizes) + self.config.names["a"][0] + self.config.shift
        return found[0] * total + settings_of("a").factor * found[1] * self.config.factor


def test_what_containers_and_objects_hold_is_guarded():
    net, x = Configured(), torch.randn(3)
    compiled = torch.compile(net)
    for change in (
        lambda: None,
        lambda: net.stages[1].update(width=5),
        lambda: net.stages.append({"width": 4}),
        lambda: net.config.sizes.append(7),
        lambda: setattr(net.config, "factor", -0.0),
        lambda: net.config.names["a"].insert(0, 9.0),
        lambda: setattr(Config, "shift", 0.5),
        lambda: setattr(settings_of("a"), "factor", 3.0),
    ):
        change()
        for _ in range(5):
            assert torch.equal(compiled(x), net(x))
    report = str(torch.explain(compiled))
    assert "replayed" in report and "eager" not in report


def test_a_class_may_have_no_module_that_can_be_read() -> None:
    """Of compiled classes, as Cython's, `__module__` is what their objects are asked by."""
    wavelet = type("Wavelet", (), {"__module__": property(lambda self: "pywt")})()
    run = torch.compile(lambda x, of: x * of.scale)
    wavelet.scale = 2.0
    assert [run(torch.ones(3), wavelet).sum().item() for _ in range(4)] == [6] * 4
    wavelet.scale = 3.0
    assert run(torch.ones(3), wavelet).sum().item() == 9


def test_a_cache_that_is_emptied_is_seen():
    def f(x):
        return x * settings_of("b").factor

    compiled, x = torch.compile(f), torch.ones(2)
    for _ in range(5):
        compiled(x)
    assert "replayed" in str(torch.explain(compiled))
    settings_of.cache_clear()
    settings_of("b").factor = 5.0
    for _ in range(5):
        assert torch.equal(compiled(x), f(x))


class Sub(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)


MANY, FIRST, SUB = [1.0], [1.0], Sub()


def added_in_place(x, held=MANY):
    held += [1.0]
    return x * len(held)


def first_is_stored(x):
    held = FIRST
    held[0] += 1.0
    return x * held[0]


def by_a_class_of_its_own(x):
    fresh = Sub()
    fresh["a"] = 2.0
    SUB["a"] = len(SUB)
    return x * fresh["a"]


def of_a_fresh_object_that_holds_an_old_one(x):
    config = Config()
    config.sizes = MANY
    config.sizes.append(1.0)
    return x * len(MANY)


@pytest.mark.parametrize(
    "function",
    [
        added_in_place,
        first_is_stored,
        by_a_class_of_its_own,
        of_a_fresh_object_that_holds_an_old_one,
    ],
)
def test_what_is_older_than_the_call_is_not_written_to_unseen(function):
    assert "replayed" not in report(function, torch.ones(2))


def test_what_a_call_makes_for_itself_may_be_written_to():
    def f(x, **options):
        options.setdefault("scale", 2.0)
        config, parts = Config(), [0, 0]
        config.factor, parts[1] = options["scale"], x
        parts += [x * config.factor]
        return torch.cat([p for p in parts if p is not parts[0]]) * config.sizes[0]

    assert "replayed 3 times" in report(f, torch.randn(3))


def test_a_debugger_sees_all(monkeypatch):
    lines = []

    def trace(frame, event, arg):
        lines.append(frame.f_lineno)
        return trace

    def f(x):
        return x * 2

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = report(f, torch.ones(2))
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)
    assert lines and "replayed" in found


def test_a_debugger_sees_ops_of_recorded_calls():
    before = sys.gettrace()
    sys.settrace(lambda *what: None)
    try:
        with watched(Guards(None)) as watch:
            assert not watch.follows and not FOLLOWERS
    finally:
        sys.settrace(before)


def test_stores_are_seen_by_a_function_that_has_run_before():
    """Python 3.12's and 3.13's tracers may not hear of the instructions of code that was not traced before."""
    held = []

    def keeps(x):
        held[len(held) :] = [1]
        return x * 2

    for _ in range(20):
        keeps(torch.ones(1))
    held.clear()
    compiled = torch.compile(keeps)
    for _ in range(6):
        compiled(torch.ones(1))
    assert len(held) == 6


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the tracer is used")
def test_whole_functions_are_looked_at_where_others_follow_calls():
    monitoring = sys.monitoring
    for tool in (3, 4):
        monitoring.use_tool_id(tool, "another")
    try:
        compiled = torch.compile(counting)
        first = COUNT
        assert [compiled(torch.ones(1)).item() - first for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    finally:
        for tool in (3, 4):
            monitoring.free_tool_id(tool)
    assert torch.compile(lambda x: x + 1)(torch.ones(1)).item() == 2


INSIDE = contextvars.ContextVar("INSIDE", default=1)


def set_for_a_while(x):
    token = INSIDE.set(3)
    try:
        return x * INSIDE.get()
    finally:
        INSIDE.reset(token)


def updates_by_a_choice(x):
    out = x * 2
    out += x if x.shape[0] == 3 else x * 3
    return out


def makes_tensors_of_numbers(x):
    t = torch.tensor([1.0, 2.0])
    t += x[0]
    t[0] = 5
    return t, torch.tensor([3.0, 4.0]) * x[0]


def stores_into_a_comprehension(x):
    scales = {name: 2.0 for name in ("a", "b")}
    scales["b"] = 3.0
    return x * scales["a"] * scales["b"]


def calls_a_variable_as_optimizers_call_theirs(x):
    state, last_epoch = x[0] * 0, 2
    for row in x:
        state = (lambda: state + row * last_epoch)()
    return state


class Trainer:
    def __init__(self):
        self.parts = {"model": [nn.Linear(2, 2)]}

    def step(self, x):
        return self.parts["model"][0](x)


@pytest.mark.parametrize(
    "function",
    [
        set_for_a_while,
        updates_by_a_choice,
        makes_tensors_of_numbers,
        stores_into_a_comprehension,
        calls_a_variable_as_optimizers_call_theirs,
        Trainer().step,
    ],
)
def test_what_only_the_call_sees_is_replayed(function):
    x = torch.randn(3, 2)
    compiled = torch.compile(function)
    for _ in range(6):
        with torch.no_grad():
            a, b = (f(x) for f in (compiled, function))
        pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]
        assert all(torch.equal(s, t) for s, t in pairs)
    report = str(torch.explain(compiled))
    if sys.version_info >= (3, 12) and function is stores_into_a_comprehension:
        return  # which comprehensions have no function of their own there
    assert "replayed 3 times" in report


def test_a_context_variable_that_stays_set_is_an_effect():
    def sets(x):
        INSIDE.set(INSIDE.get() + 1)
        return x * INSIDE.get()

    compiled = torch.compile(sets)
    x = torch.ones(2)
    found = [compiled(x)[0].item() for _ in range(6)]
    assert found == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


def test_a_hook_on_a_gradient_runs_in_recorded_calls():
    said = []

    def run(x):
        own = x.detach().requires_grad_()
        own.register_post_accumulate_grad_hook(lambda t: said.append(t.grad.sum().item()))
        (own * 3).sum().backward()
        return own.grad

    function = torch.compile(run)
    for _ in range(6):
        function(torch.ones(4))
    assert said == [12.0] * 6


PROGRAM = """
import subprocess
import sys
import rushlight as torch
def g(x): return torch.nn.functional.relu(x) + torch.sigmoid(x)
f = torch.compile(lambda x: g(x) * 2)
for _ in range(4):
    f(torch.ones(3))
assert f._runner.plans.popitem()[1].ready
assert "rushlight.jit.api" not in sys.modules, "all names of torch were found"
"""


def test_what_a_package_has_besides_is_not_loaded_by_a_recording(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    subprocess.run([sys.executable, program], check=True)


def _kept(t):
    SEEN.append("kept")
    return t


def keeps(x):
    with torch.autograd.graph.saved_tensors_hooks(_kept, lambda t: t):
        return x.exp()


def fails_within(x):
    try:
        return x.expand(7, 7, 7) @ x
    except RuntimeError:
        SEEN.append("refused")
    return x * 2


class Index:
    def __index__(self):
        SEEN.append("asked")
        return 0


def asks(x):
    return x.select(0, Index()) * 2


def warns(x):
    return F.mse_loss(x, x.detach()[:, None])


@pytest.mark.parametrize("function", [keeps, fails_within, asks, warns])
@pytest.mark.filterwarnings("always")
def test_what_ops_call_of_a_program_is_seen(function, monkeypatch):
    SEEN.clear()
    monkeypatch.setattr("warnings.showwarning", lambda *what: SEEN.append("warned"))
    compiled, x = torch.compile(function), torch.randn(3, requires_grad=True)
    wanted = function(x)
    once = len(SEEN)
    assert once
    for call in range(1, 7):
        assert torch.equal(compiled(x), wanted)
        assert len(SEEN) == once * (call + 1)


def test_ops_are_not_followed_and_what_comes_after_them_is(monkeypatch):
    asked = []
    wants = Watch.wants
    monkeypatch.setattr(Watch, "wants", lambda self, frame: asked.append(frame.f_code) or wants(self, frame))

    def function(x):
        return torch.addcmul(x, x, x).softmax(0).reshape(-1)[:2] + FLAG

    compiled = torch.compile(function)
    for _ in range(5):
        compiled(torch.randn(3))
    assert next(iter(compiled._runner.plans.values())).ready
    ops = [c for c in asked if "_engine/kernels" in c.co_filename]
    assert function.__code__ in asked and (sys.version_info >= (3, 12) or not ops)
    found = next(iter(compiled._runner.plans.values())).guards
    assert any(name == "FLAG" for name, _ in found.seen)


def test_an_op_of_another_thread_finds_that_a_record_has_ended(monkeypatch):
    """It has seen that somebody follows; by the time that it asks who, nobody does."""

    def ended(args, kwargs):
        FOLLOWERS.clear()
        return True

    monkeypatch.setattr(overrides, "_runs_by_itself", ended)
    x = torch.ones(2)
    FOLLOWERS.append(None)
    with recording(Recorder([x], [])):
        assert torch.equal(torch.add(x, x), torch.full((2,), 2.0))
