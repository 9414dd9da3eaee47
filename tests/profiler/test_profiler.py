"""torch.profiler: events, their tree and sums, the table, the files, schedules; nothing changes by watching."""

import gzip
import json

import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.profiling_ranges import SPANS
from rushlight._engine.dispatch.interpreters import MODES
from rushlight.autograd import profiler as simple
from rushlight.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)


def trainer():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(4, 8), torch.randint(2, (4,))

    def step():
        with record_function("forward"):
            loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def names(prof):
    return {e.key for e in prof.events()}


def test_names_of_a_training_step():
    step = trainer()
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        step()
        a = torch.ones(3, 3)
        (a + a) @ a
        a.add_(1)
    assert names(prof) >= {
        "forward",
        "aten::linear",
        "aten::relu",
        "aten::cross_entropy_loss",
        "aten::add",
        "aten::mm",
        "aten::add_",
        "aten::ones",
        "AddmmBackward0",
        "autograd::engine::evaluate_function: AddmmBackward0",
        "ReluBackward0",
        "Optimizer.step#SGD.step",
        "Optimizer.zero_grad#SGD.zero_grad",
    }
    assert not MODES and not SPANS


def test_events_lie_in_each_other():
    step = trainer()
    with profile() as prof:
        step()
    events = prof.events()
    linear = next(e for e in events if e.name == "aten::linear")
    assert linear.cpu_parent.name == "forward" and linear in linear.cpu_parent.cpu_children
    backward = next(e for e in events if e.name == "AddmmBackward0")
    assert backward.cpu_parent.name == "autograd::engine::evaluate_function: AddmmBackward0"
    assert {"aten::mm", "aten::sum"} & {child.name for child in backward.cpu_children}
    for event in events:
        assert event.time_range.start <= event.time_range.end
        for child in event.cpu_children:
            assert event.time_range.start <= child.time_range.start
            assert child.time_range.end <= event.time_range.end
        assert event.self_cpu_time_total >= -1e-6
    top = sum(e.cpu_time_total for e in events if e.cpu_parent is None)
    assert events.self_cpu_time_total == pytest.approx(top)


def test_watching_changes_no_bit():
    first, second = trainer(), trainer()
    expected = [first() for _ in range(4)]
    torch.manual_seed(0)
    second = trainer()
    with profile(record_shapes=True, with_stack=True, profile_memory=True, with_flops=True):
        assert [second() for _ in range(4)] == expected


def test_the_table_is_laid_out_as_pytorch_does():
    with profile(record_shapes=True, profile_memory=True, with_flops=True) as prof:
        torch.ones(4, 8) @ torch.ones(8, 16)
    text = prof.key_averages().table(sort_by="cpu_time_total", row_limit=3, header="HEAD")
    lines = text.split("\n")
    wide = len(lines[2]) - 2
    assert lines[0] == "=" * wide and lines[1] == "HEAD"
    assert (
        lines[3].split()
        == (
            "Name Self CPU % Self CPU CPU total % CPU total CPU time avg CPU Mem "
            "Self CPU Mem # of Calls Total KFLOPs"
        ).split()
    )
    assert lines[2] == lines[4] == lines[-3]
    assert lines[-2].startswith("Self CPU time total: ") and lines[-1] == ""
    mm = next(line for line in lines if "aten::mm" in line)
    assert mm.split()[0] == "aten::mm" and mm.split()[-1] == "1.024" and "256 B" in mm
    assert len({len(line) for line in lines[2:-2]}) == 1
    by_shape = prof.key_averages(group_by_input_shape=True)
    assert "[[4, 8], [8, 16]]" in by_shape.table()
    with pytest.raises(AttributeError):
        prof.key_averages().table(sort_by="bogus")


def test_long_names_and_units():
    with profile() as prof, record_function("n" * 80):
        torch.ones(3)
    assert "n" * 17 + "..." in prof.key_averages().table(max_name_column_width=20)
    assert "us" not in prof.key_averages().table(time_unit="ms").replace("ms", "")
    assert prof.key_averages().table(top_level_events_only=True).count("aten::ones") == 0


def test_sums():
    with profile() as prof:
        for _ in range(5):
            torch.ones(3)
    average = prof.key_averages()[0]
    assert average.key == "aten::ones" and average.count == 5
    assert average.cpu_time == pytest.approx(average.cpu_time_total / 5)
    assert prof.events().total_average().count == 5


def test_stacks(tmp_path):
    with profile(with_stack=True) as prof:
        torch.randn(200, 200) @ torch.randn(200, 200)
    table = prof.key_averages(group_by_stack_n=1).table()
    assert "Source Location" in table and "test_stacks" in table
    prof.export_stacks(str(tmp_path / "stacks"))
    line = (tmp_path / "stacks").read_text().splitlines()[-1]
    assert "test_stacks;aten::" in line and int(line.rpartition(" ")[2]) > 0
    with pytest.raises(ValueError, match="metric"):
        prof.export_stacks(str(tmp_path / "stacks"), "time")


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_chrome_trace(tmp_path, name):
    step = trainer()
    with profile(record_shapes=True) as prof:
        step()
    prof.add_metadata_json("epoch", "3")
    prof.export_chrome_trace(str(tmp_path / name))
    data = (tmp_path / name).read_bytes()
    trace = json.loads(gzip.decompress(data) if name.endswith("gz") else data)
    assert trace["epoch"] == 3 and trace["displayTimeUnit"] == "ms"
    complete = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert len(complete) == len(prof.events())
    assert all({"name", "cat", "ts", "dur", "pid", "tid"} <= e.keys() for e in complete)
    assert any(e["name"] == "aten::linear" and e["args"]["Input Dims"][0] == [4, 8] for e in complete)


def test_schedule():
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    told = [plan(i).name for i in range(11)]
    cycle = ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"]
    assert told == ["NONE", *cycle, *cycle, "NONE", "NONE"]
    with pytest.raises(AssertionError, match="Invalid profiler schedule"):
        schedule(wait=-1, warmup=1, active=1)
    with pytest.raises(AssertionError, match="No valid profiler activities"):
        profile(activities=[])


def test_steps_of_a_schedule(tmp_path):
    step, seen = trainer(), []

    def ready(prof):
        seen.append((prof.step_num, [e.trace_name for e in prof.events() if e.key == "ProfilerStep*"]))

    with profile(schedule=schedule(wait=1, warmup=1, active=2), on_trace_ready=ready) as prof:
        for _ in range(9):
            step()
            prof.step()
    assert seen == [(4, ["ProfilerStep#2", "ProfilerStep#3"]), (8, ["ProfilerStep#6", "ProfilerStep#7"])]
    assert next(a for a in prof.key_averages() if a.key == "ProfilerStep*").count == 2
    with profile(
        schedule=schedule(wait=0, warmup=1, active=1, repeat=2),
        on_trace_ready=tensorboard_trace_handler(str(tmp_path / "log"), "me"),
    ) as prof:
        for _ in range(4):
            step()
            prof.step()
    files = sorted((tmp_path / "log").glob("me.*.pt.trace.json"))
    assert len(files) == 2 and prof.current_action is ProfilerAction.NONE


def test_before_there_are_events():
    prof = profile()
    with pytest.raises(AssertionError, match="Profiler must be initialized"):
        prof.key_averages()


def test_record_function_decorates_and_is_free_outside():
    @record_function("mine")
    def work(a):
        return a + 1

    assert work(torch.ones(2)).tolist() == [2, 2]
    with profile() as prof:
        work(torch.ones(2))
        work(torch.ones(2))
    assert next(a for a in prof.key_averages() if a.key == "mine").count == 2


def test_autograd_profiler():
    with simple.profile(record_shapes=True) as prof, simple.record_function("all"), simple.emit_nvtx():
        torch.ones(2, 3).sum()
    assert {e.name for e in prof.function_events} == {"all", "aten::ones", "aten::sum"}
    assert "aten::sum" in str(prof) and prof.self_cpu_time_total > 0
    with simple.profile(enabled=False):
        assert not MODES
    with pytest.raises(RuntimeError, match="didn't finish"):
        simple.profile().events()


def test_an_error_inside_leaves_nothing_behind():
    with pytest.raises(RuntimeError), profile() as prof:
        torch.ones(2) @ torch.ones(3)
    assert not MODES and not SPANS and "aten::ones" in names(prof)


def test_autocast_and_subclasses_inside():
    a = torch.ones(4, 4)

    class Named(torch.Tensor):
        pass

    named = a.as_subclass(Named)
    with profile() as prof, torch.autocast("cpu"):
        assert (a @ a).dtype is torch.bfloat16
    with profile():
        assert type(named + 1) is Named and type(torch.softmax(named, -1)) is Named
    assert "aten::matmul" in names(prof)


def test_compiled_regions():
    step = trainer()
    torch.manual_seed(0)
    model, x = nn.Linear(8, 8), torch.randn(4, 8)

    @torch.compile(mode="reduce-overhead")
    def forward(x):
        with torch.no_grad():
            return model(x).relu()

    expected = [forward(x) for _ in range(3)][-1]
    with profile() as prof:
        assert torch.equal(forward(x), expected)
        step()
    region = next(e for e in prof.events() if e.name.startswith("Torch-Compiled Region"))
    assert "forward" in region.name


def test_the_loader_is_seen():
    from rushlight.utils.data import DataLoader, TensorDataset

    with profile() as prof:
        list(DataLoader(TensorDataset(torch.ones(4, 2)), batch_size=2))
    assert any(name.startswith("enumerate(DataLoader)#") for name in names(prof))


def test_anomaly_mode_inside():
    x = torch.ones(2, requires_grad=True)
    with profile() as prof, pytest.warns(UserWarning), torch.autograd.detect_anomaly():
        (x * 2).sum().backward()
    assert "aten::mul" in names(prof)
    (x * 2).sum().backward()


def test_brackets_are_seen_and_stay_what_they_are():
    x = torch.arange(12.0).reshape(3, 4)
    with profile(record_shapes=True) as prof:
        assert x[1].tolist() == [4, 5, 6, 7] and x[:, 1:2].shape == (3, 1) and x[()] is not None
        assert x[
            [0, 1],
            :,
        ].shape == (2, 4) and x[..., None, [0, 2]].shape == (3, 1, 2)
        x[0] = 5
        x[[1, 2], [0, 1]] = torch.tensor([7.0, 8.0])
        with pytest.raises(TypeError, match="can't assign"):
            x[0] = "a"
    assert x[:, 0].tolist() == [5, 7, 8]
    assert names(prof) >= {"aten::select", "aten::slice", "aten::index", "aten::copy_", "aten::index_put_"}


def test_only_the_thread_that_began_is_watched():
    from concurrent.futures import ThreadPoolExecutor

    a = torch.ones(3, requires_grad=True)
    with ThreadPoolExecutor(1) as pool, profile() as prof:
        pool.submit(lambda: (torch.tanh(a) * 2).sum().backward()).result()
        torch.sin(a)
    assert names(prof) == {"aten::sin"} and torch.allclose(a.grad, 2 * (1 - torch.tanh(a.detach()) ** 2))


def test_overloads_are_named_when_all_is_over():
    x, w = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
    with profile() as prof:
        for t in (x, x[None]):
            nn.functional.linear(t, w, torch.ones(4)).sum(0).pow(2).mean().backward()
    nodes = [e.name for e in prof.events() if e.scope == 1 and "::" not in e.name]
    assert nodes == [
        "MeanBackward0",
        "PowBackward0",
        "SumBackward1",
        "AddmmBackward0",
        "MeanBackward0",
        "PowBackward0",
        "SumBackward1",
        "ViewBackward0",
        *nodes[8:],
    ]


def test_ops_that_write_into_out_are_seen_once():
    a, out = torch.randn(4, 4), torch.empty(4, 4)
    for _ in range(3):
        with profile() as prof:
            torch.mm(a, a, out=out)
            torch.cumsum(a, 0, out=out)
            torch.add(a, a, out=out)
            torch.exp(a, out=out)
        assert [e.name for e in prof.events()] == ["aten::mm", "aten::cumsum", "aten::add", "aten::exp"]


def test_ops_outside_of_their_fast_paths_are_seen_once():
    x = torch.arange(6.0)
    with profile(record_shapes=True) as prof:
        torch.add(x, x, alpha=2, out=torch.empty(6))
        x.view(2, 3)
        torch.zeros(2, 3)
        with pytest.raises(TypeError):
            torch.tanh("x")
    assert [e.name for e in prof.events()] == ["aten::empty", "aten::add", "aten::view", "aten::zeros"]
    assert [s for s in prof.events()[1].input_shapes if s] == [[6], [6]]


def test_planned_ops_keep_their_plans_and_show_what_they_consist_of_when_asked():
    from rushlight._engine.dispatch.interpreters import DETAILED, LONE

    x = torch.arange(6.0)
    for _ in range(3):
        x.reshape(2, 3)
    with profile() as prof:
        x.reshape(2, 3)
        assert LONE[0] is not None and not DETAILED
    assert names(prof) == {"aten::reshape"}
    with profile(record_shapes=True) as prof:
        x.reshape(2, 3)
    assert names(prof) == {"aten::reshape", "aten::view"} and not DETAILED


def test_a_profile_inside_of_another():
    x = torch.ones(3, requires_grad=True)
    with profile() as outer:
        with profile() as inner:
            torch.sin(x).sum().backward()
        torch.cos(x)
    assert names(inner) >= {"aten::sin", "aten::sum", "SinBackward0"} and "aten::cos" not in names(inner)
    assert names(outer) >= {"aten::sin", "aten::sum", "SinBackward0", "aten::cos"} and not SPANS
