"""Programs of segments: what they are compiled to, and what they copy."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.runtime.stages import Run
from rushlight._engine.trace import segment
from rushlight._engine.trace.matching import Region
from rushlight.nn import functional as F
from tests.engine.trace.test_matching import compiled, matched, same


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


def programs(trace):
    """All programs of a trace that have results."""
    found, nodes = [], [trace.root, trace.backward]
    while nodes:
        node = nodes.pop()
        found += node.programs.values()
        nodes += [*node.next.values(), *node.flushed.values()]
    return found


def native(trace):
    """Whether every program that came again is compiled, and one native call."""
    made = [p.made for p in programs(trace) if p.runs > 2]
    return bool(made) and all(m is not None and [type(s) for s in m.replay] == [Run] for m in made)


@pytest.mark.parametrize("size", [100, (1 << 14) - 1, 1 << 14, 20000, 1 << 15, (1 << 15) + 1, 70000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_sums_of_everything_at_any_size(size, dtype):
    def run(x):
        y = x * 1.5
        return y.sum(), (y + 1).sum(), y.mean()

    function, x = matched(run), torch.randn(size).to(dtype)
    for _ in range(5):
        assert all(map(same, function(x), run(x)))
    assert all(p.made is not None for p in programs(function.trace))
    assert dtype is torch.bfloat16 or native(function.trace)


def test_an_update_by_hand_is_one_native_call():
    def step(model, x, y):
        params = list(model.parameters())
        grads = torch.autograd.grad(F.cross_entropy(model(x), y), params)
        with torch.no_grad():
            for p, g in zip(params, grads, strict=True):
                p -= 1e-3 * g
        return grads[0].sum()

    models = []
    for _ in range(2):
        torch.manual_seed(0)
        models.append(nn.Sequential(nn.Linear(64, 256), nn.LayerNorm(256), nn.GELU(), nn.Linear(256, 10)))
    x, y = torch.randn(64, 64), torch.randint(0, 10, (64,))
    function = matched(step)
    for _ in range(6):
        assert same(function(models[0], x, y), step(models[1], x, y))
    assert all(same(a, b) for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True))
    assert native(function.trace)


@pytest.mark.parametrize("padding", [None, 0, 3, 9])
def test_gradients_of_slices_and_tables_are_native(padding):
    table = nn.Parameter(torch.randn(10, 8))

    def step(x):
        table.grad = None
        e = F.embedding(x, table, padding)
        rotated = torch.cat([-e[..., 4:], e[..., :4]], -1)
        (e * rotated.tanh()).sum().backward()
        return table.grad

    function, x = matched(step), torch.randint(0, 10, (4, 6))
    for _ in range(5):
        expected = step(x).clone()
        assert same(function(x), expected)
    assert native(function.trace)


def test_what_a_program_reads_is_bound_once_the_other_is_compiled():
    model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8))
    called = matched(model)
    x = torch.randn(64, 64)
    held = []
    for i in range(16):
        for p in model.parameters():
            p.grad = None
        loss = called(x).square().sum()
        if i < 2:  # the forward's program begins with others of its results wanted
            held.append(called(x))
        loss.backward()
    found = [p.made for p in programs(called.trace) if p.made is not None]
    assert found and all(m.copied < 1 << 15 for m in found if len(m.inputs) > 4)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("form", ["contiguous", "channels_last", "transposed", "sliced"])
def test_what_repeats_along_channels_makes_few_jobs(size, form):
    x, scale, shift = torch.randn(4, 96, size, size), torch.randn(96, 1, 1), torch.randn(1, 96, 1, 1)
    if form == "channels_last":
        x = x.to(memory_format=torch.channels_last)
    elif form == "transposed":
        x = x.transpose(2, 3)
    elif form == "sliced":
        x = torch.randn(4, 96, size, size + 2)[..., 1:-1]

    def run(x):
        y = x * scale + shift
        return F.gelu(y), y.relu()

    function = matched(run)
    for _ in range(5):
        assert all(map(same, function(x), run(x)))
    assert native(function.trace)
    made = [p.made for p in programs(function.trace) if p.runs > 2]
    jobs = [len(s.jobs) for m in made for step in m.replay for s in step.stages]
    assert sum(jobs) <= 4 * 96 * size / 16 + 16 or form == "sliced"


def test_strides_of_dims_of_one_stay():
    def f(x):
        return torch.var_mean(x, dim=-1, keepdim=True)

    x = torch.randn(4, 5, 8)
    eager, now = [t.stride() for t in f(x)], matched(f)
    for _ in range(6):
        assert [t.stride() for t in now(x)] == eager
    assert compiled(now.trace)


def test_memory_that_is_not_set_yet_differs_by_chance():
    def run(x, y):
        out = torch.empty(4, *x.shape)
        out[0] = x
        shown = x.sum() > 0  # a solver looks at values between
        for i in range(1, 4):
            out[i] = out[i - 1] * y if bool(shown) or i else y
        return out

    function = matched(run)
    for _ in range(7):
        x, y = torch.rand(64, 32), torch.rand(64, 32)
        assert same(function(x, y), run(x, y))
    assert not [why for why in function.trace.reasons if "not compiled" in why]


def test_what_was_compared_at_two_sizes_is_not_compared_at_others(monkeypatch):
    compared = []

    class Expected(segment.Expected):
        def __init__(self, plain, arrays, entries):
            compared.append(1)
            super().__init__(plain, arrays, entries)

    def step(w, x):
        y = (F.layer_norm(x @ w, (64,)).relu() * 2 - x).softmax(-1)
        y.square().mean().backward()
        return y.detach()

    monkeypatch.setattr(segment, "Expected", Expected)
    w = torch.randn(64, 64, requires_grad=True)
    own = w.detach().clone().requires_grad_()
    function, counts = matched(step), []
    for rows in (5, 9, 6, 17, 40, 5, 33):
        for _ in range(4):
            x = torch.randn(rows, 64)
            assert same(function(w, x), step(own, x)) and same(w.grad, own.grad)
            w.grad = own.grad = None
        counts.append(len(compared))
    assert counts[2] > 1 and counts[2:] == [counts[2]] * 5
    assert compiled(function.trace)


def test_elements_that_a_mask_chooses_are_set_within_a_segment():
    def run(x):
        y = x.sin()
        y[x > 0] = 0
        y[y < -0.5] = -1.0
        return y + 1

    function = matched(run)
    for _ in range(6):
        x = torch.randn(40, 8)
        assert same(function(x), run(x))
    assert not function.trace.reasons and len(programs(function.trace)) == 1


def test_a_first_run_that_fails_leaves_nothing_half_done(monkeypatch):
    """At sizes that are no longer compared, too."""

    def step(w, x):
        w.mul_(0.5)
        w.add_(x.sin().sum(0))
        return (w * x).softmax(-1)

    def fail():
        raise MemoryError

    play, tried = segment.Compiled._play, []

    def failing(self, steps):
        if not self.fits and sizes[-1] == 40:
            tried.append(1)
            steps = [*steps, fail]
        play(self, steps)

    monkeypatch.setattr(segment.Compiled, "_play", failing)
    w, sizes = torch.randn(64), []
    own = w.clone()
    function = matched(step)
    with settings.using(verify=False):
        for rows in (5, 9, 6, 17, 40, 5):
            sizes.append(rows)
            for _ in range(4):
                x = torch.randn(rows, 64)
                assert same(function(w, x), step(own, x)) and same(w, own)
    assert tried
    assert [why for why in function.trace.reasons if "not compiled" in why and "MemoryError" in why]


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(
    "of",
    [
        lambda a: torch.where(a * 2 > 0, a + 1, a * 3),
        lambda a: torch.where(a * 2 > 0, a + 1, 0.0),
        lambda a: torch.linalg.solve_triangular(a * 2, a + 3, upper=True),
        lambda a: torch.linalg.svdvals(a * 2),
        lambda a: torch.linalg.matrix_norm(a * 2),
        lambda a: torch.linalg.matrix_power(a * 2, 3),
        lambda a: torch.linalg.vecdot(a * 2, a + 1),
        lambda a: torch.trapezoid(a * 2, a + 1),
        lambda a: torch.amax(a * 2, 1),
        lambda a: torch.quantile(a * 2, 0.3),
        lambda a: F.adaptive_avg_pool2d((a * 2)[None, None], 2),
    ],
)
def test_what_asks_for_a_class_or_for_sizes_ends_no_segment(of, backward, monkeypatch):
    runs = []
    whole = Region._results
    monkeypatch.setattr(Region, "_results", lambda self, p: runs.append(p) or whole(self, p))

    def step(x):
        found = of(x)
        if backward:
            x.grad = None
            found.sum().backward()
        return found.detach()

    torch.manual_seed(0)
    x = (torch.randn(4, 4) + 2 * torch.eye(4)).requires_grad_(backward)
    function = matched(step)
    for _ in range(6):
        runs.clear()
        found = function(x)
        assert same(found, step(x))
    assert len(runs) == 1


def _row_of_zeros(a):
    z = torch.zeros(4, 4)
    z[0] = 1.0
    return a * 2 + z


def _part_of_a_row(a):
    z = torch.full((4, 4), -1e9)
    z[0, 1:] = 0
    v = z[1]
    v += 1
    return a + z


def _seen_in_other_sizes(a):
    z = a * 2
    v = z.view(2, 8)
    v[0] = 1
    v.add_(2)
    return z + a


@pytest.mark.parametrize("of", [_row_of_zeros, _part_of_a_row, _seen_in_other_sizes])
def test_a_write_through_a_view_of_what_is_untracked_and_new_ends_no_segment(of, monkeypatch):
    runs = []
    whole = Region._results
    monkeypatch.setattr(Region, "_results", lambda self, p: runs.append(p) or whole(self, p))
    function, x = matched(of), torch.randn(4, 4)
    for _ in range(7):
        runs.clear()
        assert same(function(x), of(x))
    assert len(runs) == 1 and not function.trace.reasons
