"""Both IRs are printed, read back and verified; broken ones say what is wrong and where."""

import itertools
import math

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.settings import settings
from rushlight._engine.kernels.emit.meaning import InvalidIR, Meaning
from rushlight._engine.kernels.runtime import tiers
from rushlight._engine.ops.expressions import const, m, symbol
from rushlight._engine.ops.row_expressions import at, extent, iota, reduce_
from rushlight._engine.trace import program as programs
from rushlight._engine.trace.graph import parse, text, whole
from rushlight._engine.trace.passes.kernel_nodes import Kernel
from rushlight._engine.trace.passes.verify import sources, unmoved, verify
from rushlight._engine.trace.recorder import Entry, arrays
from rushlight.nn import functional as F

X, Y = symbol("x"), symbol("y")


@pytest.fixture(autouse=True)
def machine_code_from_the_start():
    with settings.using(kernels="llvm"):
        yield


def compiled_step(size=8):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Dropout(0.25), nn.Linear(64, 5))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    run = torch.compile(step, mode="reduce-overhead")
    for _ in range(4):
        run(torch.randn(size, 20), torch.randint(0, 5, (size,)))
    plan = next(iter(run._runner.plans.values()))
    assert plan.ready, torch.explain(run)
    return run, plan.program


# --- kernels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outputs", "inputs", "out"),
    [
        ((m.exp(X) + 1.5,), (("x", "float32"),), ("float32",)),
        (
            (X * Y, m.cast(X * Y, arg="bfloat16")),
            (("x", "float32"), ("y", "float64")),
            ("float64", "bfloat16"),
        ),
        (
            (m.where(math.inf > X, X, m.where(math.nan < Y, -0.0, const(-math.inf))),),
            (("x", "float32"), ("y", "int64")),
            ("float32",),
        ),
        ((m.polygamma(X, arg=2) + const(1 + 2j),), (("x", "complex64"),), ("complex64",)),
        (
            (at(X, iota() - 1) / extent() + reduce_("max", X * Y),),
            (("x", "float32"), ("y", "float32")),
            ("float32",),
        ),
    ],
)
def test_kernels_are_read_back(outputs, inputs, out):
    made = Meaning(outputs, inputs, out, inputs[0][1])
    assert Meaning.parse(made.text()) == made and Meaning.parse(made.text()).text() == made.text()


def test_all_kernels_of_a_step_are_read_back():
    compiled_step()
    meanings = [
        getattr(k, "meaning", None) or k._meaning()
        for k in tiers._kernels
        if hasattr(k, "meaning") or hasattr(k, "_meaning")
    ]
    assert len(meanings) > 20
    for made in meanings:
        assert Meaning.parse(made.text()) == made


GOOD = """(x: float32) work float32
%0: float32 = in['x']
%1: float32 = exp %0
%2: float32 = const[1.0]
%3: float32 = add %1 %2
store %3 as float32"""


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("%1: float32 = exp %0", "%1: float32 = exp %3", "defined before"),
        ("%1: float32 = exp %0", "%0: float32 = exp %0", "a new name"),
        ("%3: float32 = add", "%3: float64 = add", "expected .%3: float32"),
        ("add %1 %2", "add %1", "of 1 operands"),
        ("exp %0", "expp %0", "expected an atom"),
        ("in['x']", "in['z']", "one of .'x'"),
        ("exp %0", "reduce['median'] %0", "one of .'add'"),
        ("as float32", "as float31", "known dtypes"),
        ("store %3", "store %4", "results that are defined"),
        ("exp %0", "exp(%0)", "expected"),
    ],
)
def test_broken_kernels(old, new, why):
    assert Meaning.parse(GOOD).text() == GOOD
    with pytest.raises(InvalidIR, match=why):
        Meaning.parse(GOOD.replace(old, new))


def test_one_store_for_each_result():
    with pytest.raises(InvalidIR, match="one store"):
        Meaning((X, X + 1), (("x", "float32"),), ("float32",), "float32").verify()


# --- graphs -----------------------------------------------------------------------------------------


def test_a_program_is_read_back():
    run, program = compiled_step()
    shown = text(whole(program.parts))
    assert text(parse(shown)) == shown
    assert all(line in str(torch.explain(run)) for line in shown.splitlines())
    for part in ("matmul(", "rows", "pointwise", " = in['x0']", "call ", "given()", "test_ir.py:"):
        assert part in shown, part


def test_a_program_that_is_read_back_gives_the_same_numbers():
    def f(x, w):
        return F.softmax(torch.tanh(x @ w) * 2 + x[:, :1], -1), (x * 2).square()

    x, w = torch.randn(300, 40), torch.randn(40, 50)
    run = torch.compile(f, mode="reduce-overhead")
    for _ in range(4):
        expected = run(x, w)
    given, *entries, returned = parse(text(whole(next(iter(run._runner.plans.values())).program.parts)))
    assert sum(isinstance(e.function, Kernel) for e in entries) >= 2
    for out, a in zip(given.outs, (x, w), strict=True):
        out[...] = a.numpy()
    for e in entries:
        found = e.function(*e.operands)
        for out, a in zip(e.outs, found if isinstance(found, tuple) else (found,), strict=True):
            out[...] = np.reshape(a, out.shape)
    for a, b in zip(arrays(returned.operands), expected, strict=True):
        assert a.tobytes() == b.numpy().tobytes()


def simple():
    """Entries y = x + 1; z = y * 2 (a write to x in between); returned z and y."""
    x, y, z = (np.ones(4, "float32") for _ in range(3))
    plus, twice = (
        Kernel("pointwise", (e,), (("x0", "float32", "vector"),), ("float32",))
        for e in (symbol("x0") + 1, symbol("x0") * 2)
    )
    return [
        Entry("run", plus, ([x],), (y,), "a.py:1"),
        Entry("write", np.negative, (x, x), (), "a.py:2"),
        Entry("run", twice, ([y],), (z,), "a.py:3"),
        Entry("write", print, (z, y), (), "a.py:4"),
    ]


def test_a_program_without_a_mistake():
    entries = simple()
    verify(entries, "some", entries)
    verify(parse(text(entries)), "some")


def test_swapped_entries():
    first, write, second, end = simple()
    with pytest.raises(
        InvalidIR, match=r"after the pass 'fused', entry 0 \(pointwise.*a.py:3\): .*before it is made"
    ):
        verify([second, write, first, end], "fused")
    lines = text([first, write, second, end]).split("\nrun ")
    with pytest.raises(InvalidIR, match="before it is made"):
        verify(parse("\nrun ".join([lines[0], lines[2].partition("\nwrite")[0], lines[1]])), "fused")


def test_a_kernel_that_moved_past_a_write():
    first, write, second, end = simple()
    with pytest.raises(InvalidIR, match=r"'fused', entry 1 \(.*a.py:1\): .*moved past a write"):
        verify([write, first, second, end], "fused", [first, write, second, end])


def test_a_lost_result_and_a_lost_effect():
    first, write, second, end = simple()
    with pytest.raises(InvalidIR, match=r"entry 1 .*a.py:3\): an operand is read before it is made"):
        verify([write, second, end], "fused", [first, write, second, end])
    with pytest.raises(InvalidIR, match=r"entry 2 .*a.py:4\): an operand is read before it is made"):
        verify([first, write, end], "fused", [first, write, second, end])
    with pytest.raises(InvalidIR, match="the effects"):
        verify([first, second, end], "fused", [first, write, second, end])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda e: setattr(e, "outs", (np.ones(4),)), "of the dtypes"),
        (lambda e: setattr(e, "outs", (np.ones(5, "float32"),)), "fit each other"),
        (
            lambda e: setattr(
                e,
                "function",
                Kernel("pointwise", (extent() + symbol("x0"),), (("x0", "float32", "vector"),), ("float32",)),
            ),
            "expression of a row",
        ),
    ],
)
def test_kernels_that_do_not_fit_their_arrays(change, why):
    entries = simple()
    change(entries[0])
    with pytest.raises(InvalidIR, match=f"after the pass 'lowered', entry 0 .*{why}"):
        verify(entries, "lowered")


def test_lives_that_overlap_in_time_and_memory():
    entries = simple()
    before = sources(entries)
    unmoved(before, entries, "memory plan")
    arena = np.zeros(64, "float32")
    for places, good in (((0, 4), True), ((0, 0), False), ((0, 2), False)):
        y, z = (arena[p : p + 4] for p in places)
        entries[0].outs = (y,)
        entries[2].operands, entries[2].outs, entries[3].operands = ([y],), (z,), (z, y)
        if good:
            unmoved(before, entries, "memory plan")
            continue
        with pytest.raises(InvalidIR, match="'memory plan', entry 3 .*share memory"):
            unmoved(before, entries, "memory plan")


@pytest.mark.parametrize("what", ["lower", "fuse", "plan"])
def test_a_pass_that_is_wrong_is_found(what, monkeypatch):
    if what == "plan":

        class Wrong(programs.ArenaLayout):
            def _place(self, lives):
                top = super()._place(lives)
                self.places = dict.fromkeys(self.places, 0)
                return top

        monkeypatch.setattr(programs, "ArenaLayout", Wrong)
    else:
        right = getattr(programs.Fusing, what)
        monkeypatch.setattr(
            programs.Fusing, what, lambda self, entries, *live: right(self, entries, *live)[::-1]
        )
    run = torch.compile(lambda x: (x.exp().sum(0) * x.cumsum(0)).cos().cumsum(1), mode="reduce-overhead")
    run(torch.randn(6, 5))
    with pytest.raises(
        InvalidIR, match={"lower": "'lowered'", "fuse": "'fused'", "plan": "'memory plan'"}[what]
    ):
        run(torch.randn(6, 5))


def test_words_of_all_kinds():
    a = np.arange(24.0).reshape(4, 6)
    values = (
        None,
        True,
        0.5,
        7,
        "mean",
        "a, b (c)",
        torch.float32,
        object(),
        a[::-1, 1:3],
        a[:0],
        {"k": [a.T, a]},
    )
    shown = text([Entry("run", np.add, values, (np.float32([[1]]),), "a b.py:3")])
    assert text(parse(shown)) == shown
    for part in (
        "None, True, 0.5, 7, mean, <str>, torch.float32, <object>",
        "+152:float64[4,2]/-48,8",
        "# a b.py:3",
    ):
        assert part in shown, shown
    numbers = [v for v in itertools.chain(parse(shown)[0].operands) if isinstance(v, np.ndarray)]
    assert [v.strides for v in numbers] == [(-48, 8), (48, 8), (8, 48), (48, 8)]
    with pytest.raises(InvalidIR, match="expected"):
        parse("memory 4\nrun nothing")
