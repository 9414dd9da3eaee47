"""torch.profiler beside PyTorch's: schedules, the table's layout, formats, names of ops and nodes."""
import itertools
import re

import pytest

import rushlight

torch = pytest.importorskip("torch")
ARGUMENTS = [{"wait": w, "warmup": u, "active": a, "repeat": r, "skip_first": s, "skip_first_wait": f}
             for w, u, a, r, s, f in itertools.product((0, 2), (1, 2), (1, 3), (0, 2), (0, 3), (0, 1))]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=lambda a: "-".join(map(str, a.values())))
def test_schedules(arguments):
    ours, theirs = (t.profiler.schedule(**arguments) for t in (rushlight, torch))
    assert [ours(i).name for i in range(30)] == [theirs(i).name for i in range(30)]


def profiled(t):
    t.manual_seed(0)
    a = t.ones(4, 8, requires_grad=True)
    with t.profiler.profile(activities=[t.profiler.ProfilerActivity.CPU], record_shapes=True,
                            profile_memory=True, with_flops=True) as prof:
        with t.profiler.record_function("a part of the program that has a rather long name, I must say"):
            loss = ((a @ t.ones(8, 16)) + 1).relu().sum()
        loss.backward()
    return prof


def shape_of(table):
    """Lines that do not depend on what was computed: titles without the widths."""
    lines = table.splitlines()
    return [re.split(r"\s{2,}", lines[i].strip()) for i in (0, 1, 3, 4)]


@pytest.mark.parametrize("options", [{}, {"header": "H", "top_level_events_only": True}], ids=["plain", "head"])
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
    shared = {"aten::add", "aten::mm", "aten::relu", "aten::sum", "MmBackward0", "AddBackward0",
              "ReluBackward0", "autograd::engine::evaluate_function: MmBackward0"}
    assert shared <= ours and shared <= theirs


def test_flops_and_shapes():
    def figures(t):
        return {e.key: (e.flops, e.input_shapes[:2]) for e in profiled(t).events() if e.key == "aten::mm"}
    assert figures(rushlight) == figures(torch)


def test_errors():
    for call in (lambda t: t.profiler.schedule(wait=0, warmup=0, active=0),
                 lambda t: t.profiler.profile(activities=[]),
                 lambda t: t.profiler.profile().events(),
                 lambda t: t.profiler.profile().export_chrome_trace("x")):
        texts = []
        for t in (rushlight, torch):
            with pytest.raises(AssertionError) as caught:
                call(t)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]
