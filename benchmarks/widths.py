"""python -m benchmarks.widths: kernels with AVX-512 and limited to AVX2, beside PyTorch.

    --torch-python PATH   an interpreter with PyTorch     --only REGEX   names to run
    --rounds N            interleaved rounds (5)          --write        the section of docs/performance.md
    --quick               the middle sizes alone, by short rounds: a few minutes on a busy machine

Rushlight is limited by RUSHLIGHT_CPU=x86-64-v3, PyTorch by ATEN_CPU_CAPABILITY=avx2 and its libraries' own
settings. One thread, the processor's time, the least of the rounds: a busy machine changes that little. The
calls are those of `benchmarks/kernels.py` and CALLS below: of sizes between the smallest and those.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from typing import Any

from benchmarks import kernels as kernels  # its workloads
from benchmarks.eager import mean
from benchmarks.measure import both, least
from benchmarks.page import parser, table_section, write_section
from benchmarks.workloads import WORKLOADS, Workload

HEADING = "## Both instruction sets"
BAR = 1.2
SETS = {
    "AVX-512": {},
    "AVX2": {
        "RUSHLIGHT_CPU": "x86-64-v3",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    },
}

# s: 256 x 256, m: 1024 x 1024, b: bfloat16, images: 8 x 32 x 56 x 56, l: channels last
CALLS = """
relu of 64k: F.relu(s); relu of 1M: F.relu(m); gelu of 64k: F.gelu(s); gelu of 1M: F.gelu(m)
exp of 64k: s.exp(); add of 64k: s + s2; add of 1M: m + m2; add a row of 1M: m + row
mul by a number, 1M: m * 2.0; tanh of 1M: m.tanh(); clamp of 1M: m.clamp(0, 1)
where of 1M: torch.where(m > 0, m, m2); dropout of 1M: F.dropout(m); sum of 64k: s.sum(); sum of 1M: m.sum()
sum of rows, 64k: s.sum(1); sum of rows, 1M: m.sum(1); sum of columns, 1M: m.sum(0); mean of 1M: m.mean()
max of 1M: m.max(); amax of rows, 1M: m.amax(1); logsumexp of 1M: m.logsumexp(1)
softmax of 1M: m.softmax(1); cumsum of 1M: m.cumsum(1); mse_loss of 1M: F.mse_loss(m, m2)
layer_norm of 64k: F.layer_norm(s, (256,)); layer_norm of 1M: F.layer_norm(m, (1024,))
cross_entropy of 1M: F.cross_entropy(m, places); embedding of 1M: F.embedding(places, m)
index_select of 1M: m.index_select(0, places); index_add of 1M: m.index_add(0, places, m2)
transposed copy of 1M: m.t().contiguous(); cat of 1M: torch.cat([m, m2]); add of 1M, bfloat16: b + b
to bfloat16, 1M: m.bfloat16(); matmul of 256: s @ s; matmul of 256, bfloat16: sb @ sb
linear of 512: F.linear(m, w); conv2d, 3 channels: F.conv2d(x3, k3, padding=1)
conv2d, 16 channels: F.conv2d(x16, k16, padding=1); conv2d, 32 channels: F.conv2d(x, k, padding=1)
conv2d, 32 channels last: F.conv2d(xl, kl, padding=1)
conv2d, 32 channels, bfloat16: F.conv2d(xb, kb, padding=1)
conv_transpose2d: F.conv_transpose2d(x, kt, stride=2); max_pool2d: F.max_pool2d(x, 2)
max_pool2d, channels last: F.max_pool2d(xl, 2); avg_pool2d: F.avg_pool2d(x, 2)
batch_norm: F.batch_norm(x, None, None, training=True)
batch_norm, channels last: F.batch_norm(xl, None, None, training=True)
interpolate, nearest: F.interpolate(x, scale_factor=2)
interpolate, bilinear: F.interpolate(x, scale_factor=2, mode='bilinear')
attention: F.scaled_dot_product_attention(q, q, q); LSTM: lstm(sequence); AdamW of 4M: adamw()
Adam of ten layers: adam()
"""


@lru_cache(maxsize=1)
def operands(torch: Any) -> dict[str, Any]:
    """What the calls mention."""
    r, last = torch.randn, torch.channels_last

    def stepping(cls: Any, *shapes: tuple[int, ...]) -> Callable[[], Any]:
        parameters = [torch.nn.Parameter(r(*shape)) for shape in shapes]
        for p in parameters:
            p.grad = torch.randn_like(p)
        step: Callable[[], Any] = cls(parameters).step
        return step

    s, m, x, k = r(256, 256), r(1024, 1024), r(8, 32, 56, 56), r(32, 32, 3, 3)
    return {
        "torch": torch,
        "F": torch.nn.functional,
        "s": s,
        "s2": r(256, 256),
        "sb": s.bfloat16(),
        "m": m,
        "m2": r(1024, 1024),
        "b": m.bfloat16(),
        "row": r(1024),
        "places": torch.randint(0, 1024, (1024,)),
        "w": r(512, 1024),
        "x": x,
        "k": k,
        "xl": x.contiguous(memory_format=last),
        "kl": k.contiguous(memory_format=last),
        "xb": x.bfloat16(),
        "kb": k.bfloat16(),
        "x3": r(8, 3, 64, 64),
        "k3": r(16, 3, 3, 3),
        "x16": r(8, 16, 64, 64),
        "k16": r(16, 16, 3, 3),
        "kt": r(32, 16, 2, 2),
        "q": r(4, 8, 128, 64),
        "lstm": torch.nn.LSTM(64, 128),
        "sequence": r(32, 16, 64),
        "adamw": stepping(torch.optim.AdamW, (4_000_000,)),
        "adam": stepping(torch.optim.Adam, *[(64, 64)] * 10),
    }


def _workload(title: str, text: str) -> Workload:
    def prepare(torch: Any) -> Callable[[], Any]:
        call: Callable[[], Any] = eval(f"lambda: {text}", operands(torch))  # made once
        return call

    return Workload(title, BAR, prepare)


MIDDLE = {
    f"middle: {name}": _workload(name, text)
    for line in CALLS.strip().splitlines()
    for name, text in [part.strip().split(": ", 1) for part in line.split("; ")]
}


def names() -> dict[str, str]:
    """The titles of all calls by their workloads' names."""
    large = {name: w.title.removeprefix("kernel: ") for name, w in WORKLOADS.items() if name[:7] == "kernel_"}
    return {**{name: w.title for name, w in MIDDLE.items()}, **large}


# Seconds of a round, and of a quick one.
SECONDS, QUICK = 0.02, 0.004


def ratios(
    chosen: list[str], pythons: tuple[str, str], given: dict[str, str], rounds: int, seconds: float = SECONDS
) -> list[float]:
    """Ours by theirs of each workload, with such variables in the environment."""
    os.environ.update(given)
    found = []
    with ExitStack() as stack:
        workers = both(stack, pythons)
        for name in chosen:
            ours, theirs = least(name, workers, rounds, seconds)
            found.append(ours / theirs)
            print(f"{name:45} {1e6 * ours:10.1f} us {1e6 * theirs:10.1f} us {found[-1]:6.2f}", flush=True)
    for variable in given:
        del os.environ[variable]
    return found


def section(titles: list[str], results: dict[str, list[float]]) -> str:
    """The heading, how it was measured, and a row for each call."""
    means = " and ".join(f"{mean(found):.2f} with {of}" for of, found in results.items())
    above = " and ".join(f"{sum(r > BAR for r in found)}" for found in results.values())
    notes = [
        f"`python -m benchmarks.widths --write`: {len(titles)} kernels, one thread, ratios of the",
        f"processor's time, the least of interleaved rounds, a load of {os.getloadavg()[0]:.1f}.",
        f"Geometric mean {means} (bar 0.6);",
        f"{above} are above {BAR}.",
    ]
    rows = [
        (title, *(f"{r:.2f}" for r in row)) for title, *row in zip(titles, *results.values(), strict=True)
    ]
    return table_section(HEADING, notes, ("call", *results), rows)


def main() -> None:
    """Measure, print, and write the section where asked."""
    options = parser(__doc__, rounds=5)
    options.add_argument("--only", default="")
    options.add_argument("--quick", action="store_true")
    asked = options.parse_args()
    chosen = {
        name: title
        for name, title in names().items()
        if re.search(asked.only, title) and (name in MIDDLE or not asked.quick)
    }
    pythons = sys.executable, asked.torch_python
    seconds = QUICK if asked.quick else SECONDS
    results = {of: ratios(list(chosen), pythons, given, asked.rounds, seconds) for of, given in SETS.items()}
    text = section(list(chosen.values()), results)
    print("\n".join(text.splitlines()[2:6]))
    if asked.write:
        write_section(text)


if __name__ == "__main__":
    main()
