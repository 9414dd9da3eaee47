"""torch.profiler beside PyTorch's: schedules, the table's layout, formats, names of ops and nodes."""

import gc
import itertools
import re

import pytest

import rushlight

torch = pytest.importorskip("torch")
ARGUMENTS = [
    {"wait": w, "warmup": u, "active": a, "repeat": r, "skip_first": s, "skip_first_wait": f}
    for w, u, a, r, s, f in itertools.product((0, 2), (1, 2), (1, 3), (0, 2), (0, 3), (0, 1))
]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=lambda a: "-".join(map(str, a.values())))
def test_schedules(arguments):
    ours, theirs = (t.profiler.schedule(**arguments) for t in (rushlight, torch))
    assert [ours(i).name for i in range(30)] == [theirs(i).name for i in range(30)]


def profiled(t):
    t.manual_seed(0)
    a = t.ones(4, 8, requires_grad=True)
    with t.profiler.profile(
        activities=[t.profiler.ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_flops=True
    ) as prof:
        with t.profiler.record_function("a part of the program that has a rather long name, I must say"):
            loss = ((a @ t.ones(8, 16)) + 1).relu().sum()
        loss.backward()
    return prof


def shape_of(table):
    """Lines that do not depend on what was computed: titles without the widths."""
    lines = table.splitlines()
    return [re.split(r"\s{2,}", lines[i].strip()) for i in (0, 1, 3, 4)]


@pytest.mark.parametrize(
    "options", [{}, {"header": "H", "top_level_events_only": True}], ids=["plain", "head"]
)
def test_layout(options):
    ours, theirs = (profiled(t).key_averages().table(sort_by="count", **options) for t in (rushlight, torch))
    titles = [next(line for line in text.splitlines() if "Self CPU %" in line) for text in (ours, theirs)]
    strip = [re.sub("Total .?FLOPs", "", t).split() for t in titles]
    assert strip[0] == strip[1]
    for text in (ours, theirs):
        rows = [line for line in text.splitlines() if "  1" in line and "rather" in line]
        assert rows and rows[0][:55] == "a part of the program that has a rather long name, I..."
        assert text.splitlines()[-1].startswith("Self CPU time total: ")
    assert {len(t) for t in titles} == {len(titles[0])}


def test_names():
    ours, theirs = ({e.key for e in profiled(t).events()} for t in (rushlight, torch))
    shared = {
        "aten::add",
        "aten::mm",
        "aten::relu",
        "aten::sum",
        "MmBackward0",
        "AddBackward0",
        "ReluBackward0",
        "autograd::engine::evaluate_function: MmBackward0",
    }
    assert shared <= ours and shared <= theirs


def test_flops_and_shapes():
    def figures(t):
        return {e.key: (e.flops, e.input_shapes[:2]) for e in profiled(t).events() if e.key == "aten::mm"}

    assert figures(rushlight) == figures(torch)


def test_errors():
    for call in (
        lambda t: t.profiler.schedule(wait=0, warmup=0, active=0),
        lambda t: t.profiler.profile(activities=[]),
        lambda t: t.profiler.profile().events(),
        lambda t: t.profiler.profile().export_chrome_trace("x"),
    ):
        texts = []
        for t in (rushlight, torch):
            with pytest.raises(AssertionError) as caught:
                call(t)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]


METHODS = {
    "copy_": lambda t, x, y: y.copy_(x),
    "fill_": lambda t, x, y: y.fill_(3.0),
    "zero_": lambda t, x, y: y.zero_(),
    "to": lambda t, x, y: x.to(t.float64),
    "to itself": lambda t, x, y: x.to(t.float32),
    "double": lambda t, x, y: x.double(),
    "half": lambda t, x, y: x.half(),
    "cpu": lambda t, x, y: x.cpu(),
    "resize_": lambda t, x, y: y.resize_(50),
    "set_": lambda t, x, y: y.set_(x),
    "detach": lambda t, x, y: y.detach(),
    "relu_": lambda t, x, y: y.relu_(),
    "normal_": lambda t, x, y: y.normal_(),
    "bernoulli_": lambda t, x, y: y.bernoulli_(),
    "data": lambda t, x, y: y.data.copy_(x),
    "masked_fill_": lambda t, x, y: y.masked_fill_(x.bool(), 0),
    "item": lambda t, x, y: x.sum().item(),
    "clone": lambda t, x, y: x.clone(),
    "mm": lambda t, x, y: x.view(10, 10) @ x.view(10, 10),
    "out": lambda t, x, y: t.add(x, x, out=y),
    "exp": lambda t, x, y: x.exp(),
    "zeros": lambda t, x, y: t.zeros(10),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_leave_events_and_memory_is_what_results_take(name):
    def told(t):
        gc.collect()  # or tensors of earlier profiles, which lie in cycles, might be given up in this one
        x, y = t.ones(100), t.ones(100)
        with t.profiler.profile(profile_memory=True) as prof:
            kept = METHODS[name](t, x, y)
        assert kept is not None
        # PyTorch allocates a number that it writes, some bytes.
        return [
            (e.name, e.cpu_memory_usage)
            for e in prof.events()
            if e.cpu_parent is None
            and e.name != "[memory]"
            and not e.name.startswith(("aten::resolve", "aten::_reshape_alias"))
        ]

    assert told(rushlight) == told(torch)


def test_nothing_of_it_stays():
    before = {name: getattr(rushlight.Tensor, name) for name in ("copy_", "to", "item")}
    with rushlight.profiler.profile(), rushlight.autograd.profiler.profile():
        assert rushlight.Tensor.copy_ is not before["copy_"]
    assert all(getattr(rushlight.Tensor, name) is method for name, method in before.items())
