"""python -m benchmarks: Rushlight / PyTorch, medians of interleaved rounds, as a table."""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.metadata import version
from statistics import geometric_mean

from benchmarks import (
    compiling as compiling,  # its workloads
    injax,
    kernels as kernels,  # its workloads
    serving as serving,  # its workloads
)
from benchmarks.floor import Machine
from benchmarks.measure import ROOT, Result, Worker, compare, installed_size, start_time
from benchmarks.memory import compile_times, new_sizes, peak_memory
from benchmarks.page import PAGE, replace_section
from benchmarks.workloads import WORKLOADS

IMPORT_BAR, SIZE_BAR, MEMORY_BAR = 0.1, 0.35, 1.0


def options() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--torch-python", default=sys.executable, help="an interpreter that has PyTorch (default: this one)"
    )
    parser.add_argument("--jax-python", default="", help="an interpreter that has JAX, to compare with")
    parser.add_argument("--only", default="", help="regular expression found in the names to run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.05, help="about how long a round is")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    return parser.parse_args()


def results(asked: argparse.Namespace) -> Iterator[Result]:
    """One result after the other, as they are measured."""
    pythons = (sys.executable, asked.torch_python)
    if re.search(asked.only, "import"):
        yield start_time(pythons, asked.rounds, IMPORT_BAR, "import", "pass")
        yield start_time(pythons, asked.rounds, IMPORT_BAR, "import, and the first op", "torch.ones(2) + 1")
    if re.search(asked.only, "size"):
        yield installed_size(pythons, SIZE_BAR)
    for name, title in (
        ("char_gpt_step", "memory of a char_gpt step"),
        ("compiled_char_gpt", "memory of a char_gpt step, compiled / eager"),
    ):
        if re.search(asked.only, "memory"):
            yield peak_memory(pythons, name, title, MEMORY_BAR)
    if re.search(asked.only, "sizes"):
        yield new_sizes(pythons[0])
    for name, title, limits in (
        ("compiled_mlp_default", "MLP 20-64-32-2's step", (0.5, 0.1)),
        ("compiled_char_gpt", "char_gpt's step", (3.0, 3.0)),
    ):
        if re.search(asked.only, "compile"):
            yield from compile_times(pythons, name, title, limits)
    with ExitStack() as stack:
        workers = (
            stack.enter_context(Worker(pythons[0], "rushlight", asked.threads)),
            stack.enter_context(Worker(pythons[1], "torch", asked.threads)),
        )
        for name, workload in WORKLOADS.items():
            if re.search(asked.only, name):
                yield compare(name, workload.title, workload.bar, workers, asked.rounds, asked.seconds)


def beside_jax(asked: argparse.Namespace) -> Iterator[Result]:
    """The same steps beside JAX's jit."""
    with ExitStack() as stack:
        workers = (
            stack.enter_context(Worker(sys.executable, "rushlight", asked.threads)),
            stack.enter_context(Worker(asked.jax_python, "jax", asked.threads)),
        )
        for name in injax.WORKLOADS:
            if re.search(asked.only, name):
                yield compare(name, WORKLOADS[name].title, 1.0, workers, asked.rounds, asked.seconds)


def amount(value: float, unit: str) -> str:
    """A time in a readable unit, or megabytes."""
    if unit != "s":
        return f"{value:.0f} {unit}"
    for scale, name in ((1.0, "s"), (1e-3, "ms")):
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value * 1e6:.3g} us"


def cells(result: Result, machine: Machine) -> list[str]:
    """A row of the table."""
    if result.error:
        return [result.title, "-", "-", "-", f"{result.bar:.2g}", result.error, ""]
    floor = machine.floor(result.name)
    return [
        result.title,
        amount(result.ours, result.unit),
        amount(result.theirs, result.unit),
        f"{result.ratio:.2f}",
        f"{result.bar:.2g}",
        "yes" if result.met else "no",
        f"{amount(floor, 's')} x {result.ours / floor:.1f}" if floor else "",
    ]


HEAD = ["workload", "Rushlight", "PyTorch", "ratio", "bar", "met", "floor"]
LINE = "{:48} {:>10} {:>10} {:>6} {:>5}  {:4} {}"


def table(rows: list[list[str]], other: str) -> list[str]:
    """The lines of a table of rows."""
    head = [other if name == "PyTorch" else name for name in HEAD]
    return [
        "| " + " | ".join(head) + " |",
        "|---" * len(head) + "|",
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def together(found: list[Result]) -> str:
    """A sentence on the single kernels."""
    ratios = [r.ratio for r in found if r.title.startswith("kernel:") and not r.error]
    return (
        (
            f"Geometric mean of the {len(ratios)} single kernels: {geometric_mean(ratios):.2f} (bar "
            f"{kernels.MEAN_BAR:g}, none above {kernels.EACH_BAR:g})."
        )
        if ratios
        else ""
    )


def page(found: list[Result], asked: argparse.Namespace, machine: Machine) -> str:
    """The first section of docs/performance.md."""
    lines = [
        "# Performance",
        "",
        f"Written by `python -m benchmarks --write`. Medians of {asked.rounds} interleaved rounds,",
        f"{asked.threads} threads each, float32, on {os.cpu_count()} cores "
        f"({platform.machine()}), Python {platform.python_version()}, NumPy {version('numpy')}.",
        "The ratio is Rushlight's time divided by PyTorch's: below 1 is faster. The bar is the",
        "ratio that we hold ourselves to. The floor is the time in which this machine could move",
        f"the bytes or do the operations that a workload needs ({machine}), with how",
        "many times that Rushlight takes (`benchmarks/floor.py`).",
        "",
    ]
    rows = [cells(result, machine) for result in found]
    return "\n".join([*lines, *table(rows, "PyTorch"), "", together(found)]).rstrip() + "\n"


JAX = [
    "## Beside JAX",
    "",
    "Whole training steps, compiled, and the same as functions under JAX's jit;",
    "kernels that PyTorch is slow at, and the same of jax.numpy.",
    "",
]


def main() -> None:
    """Measure, print, and write the page where asked."""
    asked, found, others = options(), list[Result](), list[list[str]]()
    machine = Machine(sys.executable, asked.threads)
    print(LINE.format(*HEAD))
    for result in results(asked):
        found.append(result)
        print(LINE.format(*cells(result, machine)), flush=True)
    print(together(found))
    for result in beside_jax(asked) if asked.jax_python else ():
        others.append(cells(result, machine))
        print(LINE.format(*others[-1]), "(JAX)", flush=True)
    if asked.write:
        text = replace_section(PAGE.read_text(encoding="utf-8"), page(found, asked, machine))
        text = replace_section(text, "\n".join([*JAX, *table(others, "JAX")])) if others else text
        PAGE.write_text(text, encoding="utf-8")
        print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
