"""compile() by matching: programs with effects in Python equal eager ones bit by bit, effects included."""

import random
import threading

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from rushlight._engine.trace import choice, matching
from rushlight.nn import functional as F
from tests.engine.trace.test_random_programs import BINARY, SHAPE, UNARY


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


def matched(function):
    """The function by matching, whatever is known of its purity."""
    trace = matching.Trace()

    def run(*args, **kwargs):
        return choice.call(trace, function, args, kwargs)

    run.trace = trace
    return run


def compiled(trace):
    """How many programs of a trace have been compiled, and are in use."""
    found, nodes = 0, [trace.root, trace.backward]
    while nodes:
        node = nodes.pop()
        found += sum(program.made is not None for program in node.programs.values())
        nodes += [*node.next.values(), *node.flushed.values()]
    return found


def same(a, b):
    a, b = (t.detach() if isinstance(t, torch.Tensor) else t for t in (a, b))
    if isinstance(a, torch.Tensor):
        return (
            a.dtype is b.dtype
            and a.shape == b.shape
            and a.stride() == b.stride()
            and (
                a.contiguous().view(torch.uint8).tolist() == b.contiguous().view(torch.uint8).tolist()
                if a.ndim
                else np.array(a.item()).tobytes() == np.array(b.item()).tobytes()
            )
        )
    return a == b


class Effects:
    """A program of random ops that also does what programs do in Python."""

    def __init__(self, seed):
        choose = self.choose = random.Random(seed)
        self.steps = []
        for count in range(2, choose.randint(5, 16)):
            kind = choose.choice(
                ["op"] * 6
                + ["store", "counted", "item", "branch", "caught", "view", "list", "numpy", "number"]
            )
            many = choose.random() < 0.4
            self.steps.append(
                (
                    kind,
                    choose.choice(BINARY if many else UNARY),
                    many,
                    [choose.randrange(count) for _ in range(2)],
                    choose.random(),
                )
            )
        self.count, self.kept, self.said, self.last = 0, [], [], {}

    def __call__(self, x, y):
        values = [x, y]
        for kind, op, many, places, number in self.steps:
            a, b = (values[p] for p in places)
            values.append(op(a, b) if many else op(a))
            getattr(self, kind)(values, number)
        self.kept = self.kept[-3:]
        return values[-1], values[-1].sum() + values[2].mean()

    def op(self, values, number):
        """Nothing else."""

    def store(self, values, number):
        self.last["value"] = values[-1]
        self.kept.append(values[-1].detach())

    def counted(self, values, number):
        self.count += 1

    def item(self, values, number):
        self.said.append(f"{values[-1].sum().item():.17g}")

    def branch(self, values, number):
        if values[-1].mean() > 0.2 * number:
            values[-1] = values[-1] * 0.5
        else:
            self.said.append("small")

    def caught(self, values, number):
        try:
            values[-1] = values[-1] @ values[-1][:3]
        except RuntimeError as error:
            self.said.append(str(error))

    def view(self, values, number):
        own = values[-1] * 1.25
        own[1:3].mul_(number)
        own[0] = 0.5
        values[-1] = own

    def list(self, values, number):
        values[-1] = torch.stack(
            [
                values[-1],
                *[v for v in self.kept[:1] if v.shape == values[-1].shape and (v.dtype is values[-1].dtype)],
            ]
        ).sum(0)

    def numpy(self, values, number):
        seen = values[-1].detach().numpy()
        self.said.append(float(seen.ravel()[0]))
        own = torch.from_numpy(np.full(SHAPE, number, np.float32))
        values.append(own * 2)
        own.numpy()[...] = 7.0

    def number(self, values, number):
        values[-1] = values[-1] * (1 + self.count_of_calls() % 3)

    def count_of_calls(self):
        self.calls = getattr(self, "calls", 0) + 1
        return self.calls


def run_all(make, wrap, inputs, backward):
    program, found = make(), []
    function = wrap(program)
    for number, (x, y) in enumerate(inputs):
        torch.manual_seed(number)
        x, y = (t.clone().requires_grad_(backward) for t in (x, y))
        out, total = function(x, y)
        found += [out, total]
        if backward and total.requires_grad:
            total.backward()
            found += [x.grad, y.grad]
        found.append(torch.rand(1))
    return found, program, function


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_random_programs_with_effects(seed, backward):
    g = torch.Generator().manual_seed(seed)
    inputs = [tuple(torch.randn(SHAPE, generator=g) for _ in range(2)) for _ in range(7)]
    eager, a, _ = run_all(lambda: Effects(seed), lambda f: f, inputs, backward)
    found, b, _ = run_all(lambda: Effects(seed), matched, inputs, backward)
    for i, (e, f) in enumerate(zip(eager, found, strict=True)):
        assert (e is None and f is None) or same(e, f), i
    assert (a.count, a.said) == (b.count, b.said)
    assert all(map(same, a.kept, b.kept))


class Trainer:
    def __init__(self, inplace=False):
        torch.manual_seed(0)
        self.model = nn.Sequential(
            nn.Conv2d(1, 4, 3),
            nn.BatchNorm2d(4),
            nn.ReLU(inplace),
            nn.Flatten(),
            nn.Linear(4 * 36, 8),
            nn.LayerNorm(8),
            nn.GELU(),
            nn.Dropout(0.1),
            nn.Linear(8, 3),
        )
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 5, 0.5)
        self.steps, self.losses, self.said = 0, [], []

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.steps += 1
        self.losses.append(loss.detach())
        if self.steps % 4 == 0:
            self.said.append(f"{loss.item():.17g} {norm.item():.17g}")
        return loss


@pytest.mark.parametrize("inplace", [False, True])
def test_a_step_of_a_trainer(inplace):
    eager, other = Trainer(inplace), Trainer(inplace)
    step = matched(other.step)
    g = torch.Generator().manual_seed(1)
    batches = [
        (torch.randn(n, 1, 8, 8, generator=g), torch.randint(0, 3, (n,), generator=g)) for n in (8, 8, 5)
    ]
    for i in range(24):
        torch.manual_seed(i)
        a = eager.step(*batches[i % 3])
        torch.manual_seed(i)
        b = step(*batches[i % 3])
        assert same(a, b)
    for (name, p), q in zip(eager.model.state_dict().items(), other.model.state_dict().values(), strict=True):
        assert same(p, q), name
    assert eager.said == other.said
    assert all(map(same, eager.losses, other.losses))
    assert compiled(step.trace) >= 2


def test_a_forward_whose_backward_comes_outside():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
    run = matched(model)
    for _ in range(8):
        x = torch.randn(12, 6)
        model.zero_grad()
        model(x).square().mean().backward()
        expected = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        run(x).square().mean().backward()
        assert all(map(same, expected, [p.grad for p in model.parameters()]))
    assert compiled(run.trace) == 2


def test_results_live_on():
    run, kept, expected = matched(lambda x: (x * 2 + 1).exp()), [], []
    for i in range(10):
        x = torch.full((300, 300), float(i) / 10)
        kept.append(run(x))
        expected.append((x * 2 + 1).exp())
    assert all(map(same, kept, expected))


def test_a_value_is_read_before_memory_is_written():
    w = torch.zeros(50)

    def run(x):
        before = w + x
        w.copy_(x)
        seen = w * 2
        w.add_(1)
        return before, seen, w.sum()

    found = []
    for function in (run, matched(run)):
        w.zero_()
        found.append([[t.sum().item() for t in function(torch.full((50,), float(i)))] for i in range(6)])
    assert found[0] == found[1]


def test_arrays_that_numpy_writes_to():
    memory = np.zeros(1000, np.float32)
    x = torch.from_numpy(memory)

    def run():
        y = x + 1
        memory[...] += 1
        return y, x * 1, x[:10]

    function = matched(run)
    for i in range(6):
        y, now, seen = function()
        assert (y[0].item(), now[0].item()) == (i + 1, i + 1)
        memory[0] = i + 1
        assert seen[0].item() == memory[0]


def test_other_threads_see_values():
    seen = []

    def run(x):
        y = (x + 1) * 3
        other = threading.Thread(target=lambda: seen.append(y.sum().item()))
        other.start()
        other.join()
        return y * 2

    function = matched(run)
    for i in range(6):
        function(torch.full((10,), float(i)))
    assert seen == [30.0 * (i + 1) for i in range(6)]


def test_many_threads_call_one_function():
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    run, wrong = matched(model), []

    def work(seed):
        g = torch.Generator().manual_seed(seed)
        for _ in range(20):
            x = torch.randn(4, 6, generator=g)
            with torch.no_grad():
                wrong.append(not same(run(x), model(x)))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(wrong) == 160 and not any(wrong)


def test_errors_are_as_eager():
    def run(x, n):
        y = x * 2
        return y.reshape(n) + 1

    function = matched(run)
    x = torch.ones(6)
    for _ in range(5):
        assert function(x, (2, 3)).shape == (2, 3)
        with pytest.raises(RuntimeError, match="invalid for input of size 6"):
            function(x, (4, 2))


def test_a_class_out_of_range_raises():
    def run(x, t):
        return F.cross_entropy(x * 2, t)

    function = matched(run)
    x, t = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
    for _ in range(6):
        function(x, t)
    with pytest.raises(IndexError, match="out of bounds"):
        function(x, t + 2)
    assert same(function(x, t), run(x, t))


def test_an_error_that_is_caught_happens_once():
    seen = torch.zeros(4)

    def run(x, t):
        seen.add_(1)
        try:
            return F.cross_entropy(x, t).item()
        except IndexError:
            return (x + 1).sum().item()

    function = matched(run)
    x, t = torch.randn(4, 3), torch.tensor([0, 1, 2, 0])
    for i in range(6):
        function(x, t)
        function(x, t + 2)
        assert seen.tolist() == [2.0 * (i + 1)] * 4


def test_a_report_says_what_is_known():
    calls = []

    def run(x):
        calls.append(1)
        return (x * 2).sum()

    function = torch.compile(run)
    for _ in range(12):
        function(torch.ones(5))
    assert len(calls) == 12
    assert "matching knows 2 ops" in str(torch.explain(function))


def test_numbers_that_change_record_only_so_many_ops():
    run = matched(lambda x, f: ((x + 1) * f).sum())
    x = torch.randn(10)
    for i in range(200):
        assert same(run(x, i / 7), ((x + 1) * (i / 7)).sum())
    assert run.trace.nodes < 3 * matching.MOST_BRANCHES


def test_autocast_inside_and_outside():
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 2))
    run, x = matched(model), torch.randn(5, 6)
    for _ in range(6):
        with torch.autocast("cpu", torch.bfloat16):
            assert same(run(x), model(x))
        assert same(run(x), model(x))


def test_the_gradient_of_a_write_through_a_view_is_one_segment():
    def f(x):
        y = x * 2
        y[:, 1:3] += x[:, :2]
        return y.tanh()

    now, grads = matched(f), []
    for run in (f, *[now] * 8):
        x = torch.arange(12.0).reshape(3, 4).requires_grad_()
        run(x).sum().backward()
        grads.append(x.grad)
    assert all(same(g, grads[0]) for g in grads)
    assert not [why for why in now.trace.reasons if why.startswith("fill")]
    assert len(now.trace.backward.after().flushed) <= 1


def test_backward_begins_with_a_part_of_a_conjugate():
    def f(x):
        loss = torch.complex(x, x * 2).sum().conj().imag
        loss.backward()
        return loss

    now = matched(f)
    for _ in range(6):
        x = torch.ones(3, requires_grad=True)
        assert now(x).item() == -6.0 and x.grad.tolist() == [-2.0] * 3


@pytest.mark.parametrize("of", [np.float64, np.float32, np.int64, complex])
def test_attributes_of_numpy_are_told_by_their_values(of):
    """A scalar of NumPy is an op's attribute like Python's; another value is another branch."""

    def scale(x, k):
        return (x * k + k).exp()

    run = matched(scale)
    x = torch.randn(3, 4)
    for value in (1, 2, 1, 2, 1, 2):
        assert same(run(x, of(value)), scale(x, of(value)))
    assert not run.trace.reasons and compiled(run.trace) == 2


def test_arrays_that_rows_make_of_sizes_are_constants():
    """Places of resized images and of reflections end no segment, nor do their gradients."""

    def double(x):
        return F.pad(F.interpolate(x.exp(), scale_factor=2), (1, 2, 1, 2), mode="reflect")

    run = matched(double)
    for size in (4, 4, 4, 4, 6, 6, 6):
        x = torch.randn(1, 2, size, 4, requires_grad=True)
        y = x.detach().requires_grad_()
        a, b = run(x), double(y)
        assert same(a, b)
        a.sin().sum().backward()
        b.sin().sum().backward()
        assert same(x.grad, y.grad)
    assert not run.trace.reasons


def test_arrays_that_rows_make_of_values_are_no_constants():
    def repeated(x, counts):
        return (x.repeat_interleave(counts, 0) * 2).sum(0)

    run = matched(repeated)
    x = torch.randn(3, 4)
    for i in range(12):
        counts = torch.tensor([1, i % 3, 2])
        assert same(run(x, counts), repeated(x, counts))


def test_gradients_that_a_program_handed_out_are_added_to_in_place():
    torch.manual_seed(0)
    layer, x = nn.Linear(128, 128), torch.randn(4, 8, 128)

    def loss(x):
        return layer(x).sin().sum()

    def step(loss):
        layer.zero_grad()
        for part in x:
            loss(part).backward()
        return layer.weight.grad.clone()

    wanted, function = step(loss), matched(loss)
    for _ in range(8):
        assert same(step(function), wanted)
    function.trace.reasons.clear()
    seen = layer.weight.grad
    for _ in range(3):
        assert same(step(function), wanted)
    assert not function.trace.reasons
    before = seen.clone()  # of a program's memory, as long as somebody holds it
    step(function)
    assert same(seen, before)


def test_writes_to_shared_memory_in_a_loop_are_found_in_one_call():
    """As a stack of keys that each step adds to: each refused write ends a segment, and all are known soon."""
    memory, weight = torch.zeros(12, 4), torch.randn(4, 4)

    def run(x):
        for n in range(12):
            x = (x @ weight).tanh()
            memory.data[n] = x
            x = x + memory[: n + 1].sum(0)
        return x

    learnt = matched(run)
    x = torch.randn(4)
    expected = run(x)
    for _ in range(9):
        assert same(learnt(x), expected)
    known = learnt.trace.nodes
    assert same(learnt(x), expected) and learnt.trace.nodes == known
    assert learnt.trace.own.recorded == 0


def test_ops_inside_transforms_are_learnt_at_once():
    """Nothing there asks for values that are put off: each who did ended a segment that had to be learnt."""

    def run(w, xs):
        def loss(w, x):
            return (F.gelu(x @ w) * w.sum()).pow(2).mean()

        each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(w, xs)
        value, along = torch.func.jvp(lambda w: loss(w, xs), (w,), (each.mean(0),))
        return each.square().sum() + value + along

    learnt = matched(run)
    w, xs = torch.randn(4, 4), torch.randn(3, 2, 4)
    for _ in range(3):
        assert same(learnt(w, xs), run(w, xs))
    known = learnt.trace.nodes
    for _ in range(3):
        xs = torch.randn(3, 2, 4)
        assert same(learnt(w, xs), run(w, xs))
    assert learnt.trace.nodes == known and learnt.trace.own.recorded == 0
