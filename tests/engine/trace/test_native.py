"""Programs as native calls: stages do what Python steps do, whoever else is at work, whatever comes in."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.products import depthwise
from rushlight._engine.kernels.runtime import stages, team
from rushlight._engine.kernels.runtime.stages import Run
from rushlight._engine.numerics.rng import Engine, use_in_thread
from rushlight.nn import functional as F

rng = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


def step_of(seed=0, width=64, optimizer=torch.optim.AdamW, reduction="mean"):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.LayerNorm(width), nn.Linear(width, 5))
    opt = optimizer(model.parameters(), lr=0.01)

    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y, reduction=reduction, ignore_index=3)
        loss.backward()
        opt.step()
        return loss

    return step, model, opt


def batch(seed=1, size=16):
    torch.manual_seed(seed)
    return torch.randn(size, 20), torch.randint(0, 5, (size,))


def compiled(function, *args, mode="reduce-overhead"):
    run = torch.compile(function, mode=mode)
    for _ in range(4):
        run(*args)
    (plan,) = run._runner.plans.values()
    assert plan.ready, torch.explain(run)
    return run, plan.program


def mixed(x, y):
    z = torch.cat([x, x.t().contiguous().t()[:, ::2], x * 2], 1).transpose(0, 1).contiguous()
    a, b = z.reshape(2, 25, -1), z.reshape(2, -1, 25)
    return (
        a @ b,
        z.sum(),
        z.sum(0),
        z.sum(1),
        (z * z).sum(),
        z[:, :1] + z.mean(),
        y.sum(),
        F.softmax(z.t(), 0) @ z,
    )


def overwriting(x, y):
    a = x * 2
    a.mul_(3).add_(x)
    a[1:] += x[:-1]
    b = torch.empty(x.shape).copy_(a.flip(0))
    b[:, ::2] *= b[:, ::2] - 1
    return (
        a,
        b,
        (a * b).sum((0,)),
        torch.cat([a, b[:, :3]], 1).sum(0),
        F.dropout(a, 0.3),
        torch.ones(3) + y.sum(),
    )


@pytest.mark.parametrize("function", [step_of()[0], step_of(reduction="sum")[0], mixed])
@pytest.mark.parametrize("size", [2, 16, 2100])
def test_stages_equal_python_steps(function, size):
    _, program = compiled(function, *batch(size=size))
    native = 0
    for part in program.parts:
        for entry, step in zip(part.entries, part.steps, strict=True):
            if not isinstance(step, Run):
                continue
            native += 1
            results = []
            ((_, python),) = step.pieces
            for run in (step, python):
                for out in entry.outs:
                    out[...] = 7
                with np.errstate(all="ignore"):
                    run()
                results.append([out.tobytes() for out in entry.outs])
            assert results[0] == results[1], (entry.name, [o.shape for o in entry.outs])
    assert native > 4
    runs = [step for part in program.parts for step in part.replay]
    assert all(not isinstance(a, Run) or not isinstance(b, Run) for a, b in zip(runs, runs[1:], strict=False))


def test_a_whole_step_is_one_native_call_and_the_optimizers():
    run, program = compiled(step_of()[0], *batch())
    assert sum(isinstance(step, Run) for step in program.forward.replay) == 1
    assert " steps in 1 native calls and 3 of Python" in str(torch.explain(run))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((7,), (0,)),
        ((129,), (0,)),
        ((16000,), (0,)),
        ((64, 2), (0,)),
        ((64, 33), (0,)),
        ((3, 5000), (0,)),
        ((33, 64), (1,)),
        ((4000, 3), (1,)),
        ((5, 6, 7), (0, 1)),
        ((5, 6, 7), (1, 2)),
        ((5, 1, 7), (0, 1, 2)),
        ((1, 8, 1), (1,)),
        ((4, 7, 5, 3), (0, 2, 3)),
        ((9, 3, 700), (0, 2)),
        ((3, 2, 17000), (0, 2)),
        ((2, 300, 8), (0, 2)),
        ((4, 3, 5), (1,)),
        ((3000, 1), (0,)),
        ((1, 9), (0,)),
        ((2, 1), (1,)),
        ((), ()),
    ],
)
def test_sums_have_numpys_bits(shape, axes, dtype):
    a = np.asarray(rng.standard_normal(shape), dtype)
    expected = np.asarray(np.add.reduce(a, axes))
    out = np.full_like(expected, 5)
    found = stages.add_reduce(a, axes, out)
    if found is not None:
        Run([(found, pytest.fail)])()
        assert out.tobytes() == expected.tobytes()
    assert found is not None or shape in ((), (1, 9), (2, 1), (4, 3, 5))


@pytest.mark.parametrize("dtype", ["float16", "int64", "float32", "complex128"])
def test_copies_between_all_layouts(dtype):
    a = rng.integers(0, 200, (3, 4, 5, 6)).astype(dtype)
    for source in (
        a,
        a.transpose(3, 1, 0, 2),
        a[::2, :, 1:, ::-1],
        a[:, :1, :1],
        a[0, 0, 0, 0, ...],
        a[:, :, :0],
    ):
        shape = (3, 4, 5, 6) if source.ndim < 4 or source.shape[1] == 1 else source.shape
        for to in (
            np.zeros(shape, dtype),
            np.zeros(shape[::-1], dtype).T,
            np.zeros((*shape, 2), dtype)[..., 1],
        ):
            found = stages.copy(to, source)
            if found is None:
                assert not to.size or dtype in ("float16", "complex128")
                continue
            Run([(found, pytest.fail)])()
            np.testing.assert_array_equal(to, np.broadcast_to(source, shape))


def test_a_target_out_of_range_raises_and_leaves_parameters_alone():
    step, model, opt = step_of()
    run, _ = compiled(step, *batch())
    x, y = batch(5)
    before, wrong = [p.tolist() for p in model.parameters()], y.clone()
    wrong[3] = 5
    for value in (5, -1, 1 << 40):
        wrong[3] = value
        with pytest.raises(IndexError, match=f"Target {value} is out of bounds"):
            run(x, wrong)
        assert [p.tolist() for p in model.parameters()] == before
        assert {int(s["step"]) for s in opt.state.values()} == {4}
    run(x, y)
    assert {int(s["step"]) for s in opt.state.values()} == {5}


def results_of(run, data):
    return [run(*d).item() for d in data]


def test_two_threads_replay_at_once():
    data = [batch(seed, 600) for seed in range(40)]
    expected = [results_of(step_of(seed, 300)[0], [data[0]] * 4 + data) for seed in range(3)]
    found = {}

    runs, barrier = [compiled(step_of(seed, 300)[0], *data[0])[0] for seed in range(3)], threading.Barrier(3)

    def work(seed):
        barrier.wait()
        found[seed] = results_of(runs[seed], data)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[seed] for seed in range(3)] == [e[4:] for e in expected]


def test_a_team_that_is_at_work_elsewhere():
    data = batch(size=600)
    run, _ = compiled(step_of(0, 300)[0], *data)
    eager = step_of(0, 300)[0]
    expected = results_of(eager, [data] * 6)[4:]
    found = results_of(run, [data])
    with team._busy:
        found += results_of(run, [data])
    assert found == expected


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("size", [3, 900, 2100])
def test_what_is_written_in_place_drawn_and_summed_has_eagers_bits(size, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        run, _ = compiled(overwriting, *batch(size=size))
        for seed in range(4):
            found = []
            for function in (run, overwriting):
                torch.manual_seed(seed)
                found.append([t.tolist() for t in function(*batch(seed, size))] + [torch.rand(3).tolist()])
            assert found[0] == found[1]
    finally:
        torch.set_num_threads(before)


def test_a_thread_with_random_numbers_of_its_own():
    def dropped(x):
        return F.dropout(x, 0.5)

    x = torch.ones(64, 64)
    run, program = compiled(dropped, x)
    assert any(isinstance(step, Run) for step in program.forward.replay)

    def work():
        use_in_thread(Engine(7))
        found.append(run(x).tolist())
        use_in_thread(Engine(7))
        found.append(dropped(x).tolist())

    found, state = [], torch.get_rng_state().tolist()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found[0] == found[1] and torch.get_rng_state().tolist() == state
    torch.manual_seed(7)
    assert run(x).tolist() == found[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded")
def test_a_forked_child_replays():
    data = batch(size=600)
    run, _ = compiled(step_of(0, 300)[0], *data)
    child = os.fork()
    if not child:
        try:
            os._exit(
                0 if results_of(run, [data] * 2) == results_of(step_of(0, 300)[0], [data] * 6)[4:] else 1
            )
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert results_of(run, [data] * 2) == results_of(step_of(0, 300)[0], [data] * 6)[4:]


SCRIPT = """
import sys
{first}
import rushlight as torch
sys.path.insert(0, {root!r})
from tests.engine.trace import test_native as tests
data = tests.batch()
losses = tests.results_of(tests.step_of()[0], [data] * 6)
run = torch.compile(tests.step_of()[0], mode="reduce-overhead")
assert tests.results_of(run, [data] * 6) == losses
(plan,) = run._runner.plans.values()
assert plan.replays == 3, torch.explain(run)
assert "in 0 native calls" in str(torch.explain(run))
"""


@pytest.mark.parametrize(("kernels", "first"), [("numpy", ""), ("auto", "sys.modules['llvmlite'] = None")])
def test_without_machine_code(kernels, first):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    script = SCRIPT.format(first=first, root=root)
    subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        timeout=120,
        cwd=root,
        env={**os.environ, "RUSHLIGHT_KERNELS": kernels},
    )


def test_an_optimizers_step_sees_what_changes():
    def trained(compile_):
        step, model, opt = step_of(optimizer=torch.optim.Adam)
        run = torch.compile(step, mode="reduce-overhead") if compile_ else step
        steps = []
        for number in range(30):
            if number == 8:
                opt.param_groups[0]["lr"] = 0.5
            if number == 11:
                opt.param_groups[0]["weight_decay"] = 0.1
            if number == 14:
                opt.register_step_post_hook(lambda *_: steps.append(number))
            if number == 17:
                opt.load_state_dict(opt.state_dict())
            if number == 20:
                for p in model.parameters():
                    opt.state[p]["exp_avg"] = torch.zeros_like(opt.state[p]["exp_avg"])
            if number == 23:
                opt.state.clear()
            run(*batch(number))
        counts = [int(s["step"]) for s in opt.state.values()]
        return [p.tolist() for p in model.parameters()], counts, steps

    assert trained(True) == trained(False)


def test_what_a_body_answers_with_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A convolution of each channel is no native call; how it is done was worked out anew at each replay."""
    found = []
    build = depthwise._BUILD["forward"]
    monkeypatch.setitem(depthwise._BUILD, "forward", lambda *args: found.append(args) or build(*args))
    w = torch.randn(4, 1, 3, 3)
    run = torch.compile(lambda x: torch.conv2d(x, w, groups=4).sin())
    x = torch.randn(1, 4, 67, 69)
    with torch.no_grad():
        wanted = torch.conv2d(x, w, groups=4).sin()
        for _ in range(6):
            run(x)
        before = len(found)
        for _ in range(3):
            assert run(x).equal(wanted)
    assert before and len(found) == before
