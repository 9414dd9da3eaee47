"""python -m benchmarks.small: the cost of a call, fifty-six small ops beside PyTorch.

    --torch-python PATH   an interpreter with PyTorch     --only REGEX   names to run
    --rounds N            interleaved rounds (9)          --young        from the second call of a process on
    --write               the section of docs/performance.md

Both frameworks run the same calls in processes of their own, in turn, one thread; a call's time is the
processor's, and the least of the rounds, which a busy machine changes little. With `--young` a call's
time is the mean of its second to hundredth call in a process that has done nothing else.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from benchmarks.eager import mean
from benchmarks.measure import ROOT, both, environment, least
from benchmarks.page import parser, table_section, write_section
from benchmarks.workloads import Workload

HEADING = "## Small ops"
YOUNG_CALLS = 100

# NAME: CALL. Operands: x, y (4 x 8), r (8), w (8 x 8), g (4 x 8, tracked), h (8 x 8, tracked), k (places),
# classes, i (int64), n (a NumPy array), images, and e, which calls write to.
CALLS = """
add: x + y; add a number: x + 1; mul: x * y; sub: x - y; div: x / y; neg: -x; exp: x.exp(); relu: F.relu(x)
gelu: F.gelu(x); sigmoid: x.sigmoid(); tanh: x.tanh(); sqrt: y.sqrt(); pow: x ** 2; clamp: x.clamp(0, 1)
comparison: x < y; where: torch.where(m, x, y); add in place: e.add_(y); add, tracked: g + y
mul, tracked: g * y; matmul: x @ w; matmul, tracked: g @ h; linear: F.linear(x, w, r)
linear, tracked: F.linear(g, h, r); bmm: torch.bmm(b, b); sum: x.sum(); sum of rows: x.sum(1)
mean: x.mean(-1); max: x.max(); argmax: x.argmax(1); softmax: x.softmax(-1)
log_softmax: F.log_softmax(x, -1); layer_norm: F.layer_norm(x, (8,)); cross_entropy: F.cross_entropy(x, k)
mse_loss: F.mse_loss(x, y); embedding: F.embedding(k, w); cat: torch.cat([x, y]); stack: torch.stack([x, y])
view: x.view(32); reshape: x.reshape(8, 4); transpose: x.transpose(0, 1); T: x.T
permute: x.permute(1, 0); expand: r.expand(4, 8); unsqueeze: x.unsqueeze(0); an added dim: x[None]
a row: x[1]; a slice: x[1:3]; a mask: x[m]; detach: x.detach(); clone: x.clone(); shape: x.shape
to(dtype): x.to(torch.float64); item: one.item(); from_numpy: torch.from_numpy(n); zeros: torch.zeros(4, 8)
sum, backward: g.sum().backward(); twenty ops, backward: chain()
"""


def operands(torch: Any) -> dict[str, Any]:
    """What the calls mention."""
    x, y = torch.randn(4, 8), torch.rand(4, 8) + 0.5
    g, h = torch.randn(4, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)

    def chain() -> None:
        out = g
        for _ in range(10):
            out = (out * y) + x
        out.sum().backward()

    return {
        "torch": torch,
        "F": torch.nn.functional,
        "x": x,
        "y": y,
        "e": torch.zeros(4, 8),
        "r": torch.randn(8),
        "w": torch.randn(8, 8),
        "g": g,
        "h": h,
        "b": torch.randn(2, 4, 4),
        "m": x > 0,
        "k": torch.tensor([1, 2, 0, 3]),
        "one": torch.tensor(2.0),
        "n": y.numpy(),
        "chain": chain,
    }


def calls() -> dict[str, str]:
    """The expression of each call by its name."""
    texts = [text.strip() for line in CALLS.strip().splitlines() for text in line.split("; ")]
    return dict(text.split(": ", 1) for text in texts)


def _workload(title: str, text: str) -> Workload:
    def prepare(torch: Any) -> Callable[[], Any]:
        found: Callable[[], Any] = eval(f"lambda: {text}", operands(torch))  # made once
        return found

    return Workload(title, 1.5, prepare)


SMALL = {f"small: {name}": _workload(name, text) for name, text in calls().items()}


def run_young(package: str, name: str) -> None:
    """The first call, and the mean of the next ones, in a process that does nothing else; printed."""
    from importlib import import_module
    from time import process_time

    torch = import_module(package)
    torch.manual_seed(0)
    call = SMALL[name].prepare(torch)
    times = [process_time()]
    call()
    times.append(process_time())
    for _ in range(YOUNG_CALLS):
        call()
    times.append(process_time())
    print(times[1] - times[0], (times[2] - times[1]) / YOUNG_CALLS)


def young(name: str, pythons: tuple[str, str], rounds: int, cache: str) -> list[float]:
    """The least seconds of a young process's calls, ours and theirs: the next ones', then our first's."""

    def once(python: str, package: str) -> list[float]:
        command = [python, "-m", "benchmarks.small", "--run", package, name]
        given = {**environment(1), "RUSHLIGHT_CACHE_DIR": cache}
        done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, check=True)
        return [float(word) for word in done.stdout.split()[-2:]]

    once(pythons[0], "rushlight")  # which fills the cache
    found = [
        [once(python, package) for python, package in zip(pythons, ("rushlight", "torch"), strict=True)]
        for _ in range(rounds)
    ]
    return [min(f[0][1] for f in found), min(f[1][1] for f in found), min(f[0][0] for f in found)]


def section(results: dict[str, list[float]]) -> str:
    """The heading, how it was measured, and a row for each call."""
    ratios = [ours / theirs for ours, theirs, *_ in results.values()]
    notes = [
        f"`python -m benchmarks.small --write`: {len(results)} calls, one thread, the processor's",
        f"microseconds, the least of interleaved rounds, a load of {os.getloadavg()[0]:.1f}. Geometric mean",
        f"of the ratios {mean(ratios):.2f}; {sum(r > 1.5 for r in ratios)} are above 1.5.",
    ]
    rows = [
        (SMALL[name].title, f"{1e6 * ours:.2f}", f"{1e6 * theirs:.2f}", f"{ours / theirs:.2f}")
        for name, (ours, theirs, *_) in results.items()
    ]
    return table_section(HEADING, notes, ("call", "Rushlight", "PyTorch", "ratio"), rows)


def main() -> None:
    """Measure, print, and write the section where asked."""
    options = parser(__doc__, rounds=9)
    options.add_argument("--only", default="")
    options.add_argument("--seconds", type=float, default=0.01, help="about how long a round is")
    options.add_argument("--young", action="store_true")
    options.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.run:
        run_young(*asked.run)
        return
    results: dict[str, list[float]] = {}
    with ExitStack() as stack:
        cache = stack.enter_context(tempfile.TemporaryDirectory())
        pythons = (sys.executable, asked.torch_python)
        workers = both(stack, pythons)
        for name in SMALL:
            if re.search(asked.only, name):
                found = results[name] = (
                    young(name, pythons, asked.rounds, cache)
                    if asked.young
                    else least(name, workers, asked.rounds, asked.seconds)
                )
                ours, theirs, *first = (f"{1e6 * each:9.2f} us" for each in found)
                print(f"{name[7:]:24} {ours} {theirs} {found[0] / found[1]:6.2f}", *first, flush=True)
    print("\n".join(section(results).splitlines()[2:5]))
    if asked.write and not asked.young:
        write_section(section(results))


if __name__ == "__main__":
    main()
