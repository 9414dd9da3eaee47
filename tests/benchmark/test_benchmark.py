"""torch.utils.benchmark with a clock of our own: statistics, texts and how often a statement runs."""

import pickle

import pytest

import rushlight as torch
import rushlight.utils.benchmark as benchmark


def measured(times, number=1, *, stmt="x", setup="", **names):
    return benchmark.Measurement(number, times, benchmark.TaskSpec(stmt, setup, **names))


class Clock:
    """Reading it takes a tenth of a millisecond, and the work that advances it as long as it says."""

    def __init__(self):
        self.now, self.runs = 0.0, 0

    def __call__(self):
        self.now += 1e-4
        return self.now

    def work(self):
        self.now += 3e-6
        self.runs += 1


def test_statistics_of_a_measurement():
    found = measured([1e-3, 1.1e-3, 1.2e-3, 1.0e-3], label="L", sub_label="S")
    assert (found.median, found.mean, found.iqr) == pytest.approx((1.05e-3, 1.075e-3, 1.25e-4))
    assert (found.has_warnings, found.meets_confidence(0.2)) == (True, True)
    assert (found.title, found.as_row_name, found.label, found.env) == ("L: S", "S", "L", None)
    assert measured([4.0], 4).times == [1.0]
    assert pickle.loads(pickle.dumps(found)) == found
    assert [
        measured([1.0 + s * i / 20 for i in range(20)]).significant_figures
        for s in (0, 1e-4, 1e-3, 3e-2, 1.0)
    ] == [4, 4, 4, 2, 1]
    with pytest.raises(AttributeError, match="has no attribute 'foo'"):
        found.foo


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (measured([3e-3], 3, num_threads=2), "x\n  1.00 ms\n  1 measurement, 3 runs , 2 threads"),
        (
            measured(
                [1e-5, 1.1e-5, 1.05e-5, 1.2e-5, 2e-5, 1e-5], 7, label="L", sub_label="S", description="D"
            ),
            "L: S\nD\n  Median: 1.54 us\n  IQR:    0.23 us (1.45 to 1.68)\n"
            "  6 measurements, 7 runs per measurement, 1 thread\n"
            "  WARNING: Interquartile range is 15.1% of the median measurement.\n"
            "           This could indicate system fluctuation.",
        ),
        (
            measured([3.0, 3.0], stmt="a\nb", setup="import x\ny=1"),
            "stmt:\n  a\n  b\n\nsetup:\n  import x\n  y=1\n\n  Median: 3.00 s\n"
            "  2 measurements, 1 runs per measurement, 1 thread",
        ),
    ],
)
def test_repr(found, text):
    first, rest = repr(found).split("\n", 1)
    assert "Measurement object at" in first
    assert rest == text


def test_merge():
    merged = benchmark.Measurement.merge(
        [measured([1.0, 2.0], 2), measured([3.0], 3), measured([4.0], label="z")]
    )
    assert [(m.number_per_run, m.raw_times, m.label) for m in merged] == [
        (1, [0.5, 1.0, 1.0], None),
        (1, [4.0], "z"),
    ]


@pytest.mark.parametrize(
    ("method", "options", "number", "blocks", "runs"),
    [
        ("timeit", {"number": 50}, 50, 1, 52),
        ("blocked_autorange", {}, 100000, 1, 211111),
        ("adaptive_autorange", {}, 100000, 4, 511111),
    ],
)
def test_how_often_the_statement_runs(method, options, number, blocks, runs):
    clock = Clock()
    timer = benchmark.Timer("work()", timer=clock, globals={"work": clock.work}, label="l")
    found = getattr(timer, method)(**options)
    assert (found.number_per_run, len(found.raw_times), clock.runs) == (number, blocks, runs)
    assert found.raw_times[0] == pytest.approx(1e-4 + number * 3e-6)


def test_adaptive_autorange_gives_up():
    clock, calls = Clock(), []
    timer = benchmark.Timer(
        "clock.now += 1e-3 * (1 + next(steps) % 7)",
        timer=clock,
        globals={"clock": clock, "steps": iter(range(1, 10000))},
    )
    found = timer.adaptive_autorange(0.01, max_run_time=0.5, callback=lambda *call: calls.append(call))
    assert found.number_per_run == 100
    assert calls == [(100, time) for time in found.raw_times] and len(calls) == 2


def test_threads_and_names():
    before, seen = torch.get_num_threads(), []
    timer = benchmark.Timer("  seen.append(torch.get_num_threads())\n", globals={"seen": seen}, num_threads=2)
    assert timer.timeit(1).stmt == "seen.append(torch.get_num_threads())"
    assert seen[-1] == 2 and torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"stmt": 3}, ValueError),
        ({"language": "rust"}, ValueError),
        ({"language": "c++"}, NotImplementedError),
        ({"global_setup": "x"}, ValueError),
    ],
)
def test_what_a_timer_does_not_take(options, error):
    with pytest.raises(error):
        benchmark.Timer(**options)


def table(results, *calls):
    made = benchmark.Compare(results)
    for call in calls:
        getattr(made, call)()
    return "\n".join(line.rstrip() for line in str(made).split("\n"))


GRID = [
    measured(
        [1e-3 * i * (1 + 0.01 * j) for j in range(6)],
        label="L",
        sub_label=f"s{k}",
        description=f"n={i}",
        num_threads=threads,
    )
    for i in (1, 20, 300)
    for k in range(2)
    for threads in (1, 4)
]


def test_table():
    assert (
        table(GRID, "trim_significant_figures")
        == """\
[--------------- L ---------------]
          |  n=1  |  n=20  |  n=300
1 threads: ------------------------
      s0  |  1.0  |   20   |   310
      s1  |  1.0  |   20   |   310
4 threads: ------------------------
      s0  |  1.0  |   20   |   310
      s1  |  1.0  |   20   |   310

Times are in milliseconds (ms).
"""
    )


def test_table_with_environments_and_gaps():
    results = [
        measured([1.0 * x], label="A", sub_label="s", env=env, description=f"d{x}")
        for env in ("aaaa", "bbbbbb")
        for x in (1, 2)
    ]
    results.append(measured([1.0], label="A", sub_label="s2", env="aaaa", description="d1"))
    assert (
        table(results)
        == """\
[------------ A -------------]
                |   d1  |   d2
1 threads: -------------------
  (aaaa)    s   |  1.0  |  2.0
            s2  |  1.0  |
  (bbbbbb)  s   |  1.0  |  2.0

Times are in seconds (s).
"""
    )


def test_table_in_colours_and_with_warnings():
    results = [measured([v], label="L", sub_label=str(v), description="d") for v in (1.0, 1.1, 1.5, 2.0, 5.0)]
    rows = table(results, "colorize").split("\n")[3:8]
    assert [row.split("|  ")[1] for row in rows] == [
        "\x1b[92m\x1b[1m1.0\x1b[0m\x1b[0m",
        "\x1b[34m\x1b[1m1.1\x1b[0m\x1b[0m",
        "1.5",
        "\x1b[2m\x1b[91m2.0\x1b[0m\x1b[0m",
        "\x1b[31m\x1b[1m5.0\x1b[0m\x1b[0m",
    ]
    spread = table(
        [
            measured([1.0, 1.5, 2.0, 2.5], label="L", description="d"),
            measured([100.0], label="L", sub_label="k", description="d"),
        ],
        "highlight_warnings",
    )
    assert "      x  |   1.8 (! 43%)\n      k  |  100.0\n" in spread
    assert spread.endswith("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n")
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        benchmark.Compare([1])
