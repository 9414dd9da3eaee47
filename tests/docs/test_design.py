"""The table of docs/design.md says where things happen; here they are done, and it is seen that they do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")

# What is run, with a function `entered()` that gives (path, qualified name) of every Python function entered.
HEAD = """
import sys, warnings
from pathlib import Path
import rushlight as torch
warnings.simplefilter("ignore")
seen = set()
def note(frame, event, arg):
    if event == "call":
        seen.add((frame.f_code.co_filename, frame.f_code.co_qualname))
def watch():
    seen.clear()
    sys.setprofile(note)
def report():
    sys.setprofile(None)
    for path, name in sorted(seen):
        if "/rushlight/" in path:
            print(path[path.rindex("/rushlight/") + 1:], name)
"""
# By the places that the table must name for it: what is to be done between watch() and report().
CASES = {
    "row kernel, layer_norm": (
        ["ops/row_kernels.py launch"],
        "x = torch.randn(6, 5)\nwatch(); torch.nn.functional.layer_norm(x, (5,))",
    ),
    "row kernel, softmax": (
        ["ops/row_kernels.py launch"],
        "x = torch.randn(6, 5)\nwatch(); torch.softmax(x, -1)",
    ),
    "row kernel, small, again": (
        ["kernels/runtime/small_calls.py of_kernel", "dispatch/runners/plans.py Script"],
        "x = torch.randn(6, 5)\nwatch()\nfor i in range(5): torch.softmax(x, -1)",
    ),
    "compile: another dtype": (
        ["trace/guards.py key_of", "trace/compiled.py Compiled._begun"],
        "f = torch.compile(lambda x: (x + 1).tanh(), backend='inductor')\n"
        "for i in range(4): f(torch.ones(3))\nwatch(); f(torch.ones(3, dtype=torch.float64))",
    ),
    "compile: a variable": (
        ["trace/guards.py Guards.failure", "trace/compiled.py Compiled._again"],
        "k = 2.0\ndef g(x): return (x * k).tanh()\nf = torch.compile(g, backend='inductor')\n"
        "for i in range(4): f(torch.ones(3))\nk = 3.0\nwatch(); f(torch.ones(3))",
    ),
    "matmul's message": (
        ["core/errors.py check_multipliable"],
        "watch()\ntry: torch.ones(2, 3) @ torch.ones(2, 3)\nexcept RuntimeError: pass",
    ),
    "backward": (
        ["autograd/engine.py backward", "derive/vjp.py differentiate"],
        "x = torch.randn(3, requires_grad=True)\nwatch(); torch.nn.functional.silu(x).sum().backward()",
    ),
    "promotion": (
        ["core/promotion.py combine"],
        "watch(); torch.ones(2, dtype=torch.int16) + torch.ones(2, dtype=torch.float16)",
    ),
}
WORKER = """
import traceback
class Data:
    def __len__(self): return 1
    def __getitem__(self, i):
        return "\\n".join(f"{f.filename} {f.name}" for f in traceback.extract_stack())
if __name__ == "__main__":
    for batch in torch.utils.data.DataLoader(Data(), num_workers=1):
        print(*[line[line.rindex("/rushlight/") + 1:] for line in batch[0].split("\\n") if "/rushlight/" in line], sep="\\n")
"""
OUT_OF_MEMORY = """
watch()
try:
    torch.empty(1 << 40, device="cuda", dtype=torch.uint8)
except torch.OutOfMemoryError:
    report()
"""


def run(program: str, **settings: str) -> set[str]:
    """What a program prints of where it was: lines of file and name."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + program],
        env={**os.environ, "PYTHONPATH": str(ROOT), **settings},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {line.replace("rushlight/_engine/", "") for line in done.stdout.splitlines()}


def check(places: list[str], found: set[str]) -> None:
    """The table names these places, and they were among what was entered."""
    for place in places:
        path, name = place.split()
        assert re.search(rf"`{path}:\d+ {re.escape(name)}`", PAGE), f"docs/design.md does not name {place}"
        begun = [line for line in found if line == place or line.startswith(f"{place}.")]
        assert begun, f"{place} was not entered"


@pytest.mark.parametrize("case", CASES)
def test_it_happens_where_the_table_says(case: str) -> None:
    places, program = CASES[case]
    check(places, run(program + "\nreport()\n", RUSHLIGHT_KERNELS="llvm"))


def test_out_of_memory() -> None:
    places = ["allocator.py Allocator.allocate", "allocator.py Allocator._ask", "words.py out_of_memory"]
    found = run(OUT_OF_MEMORY, RUSHLIGHT_CUDA="simulated:1GB")
    check([f"devices/cuda/{place}" for place in places], found)


def test_the_loop_of_a_worker(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text(HEAD + WORKER)
    found = run(f"import runpy; runpy.run_path({str(tmp_path / 'data.py')!r}, run_name='__main__')")
    check(["rushlight/utils/data/processes.py _worker_loop"], found)


def test_decisions_that_the_code_names_are_there() -> None:
    named = {
        found
        for path in (ROOT / "rushlight").rglob("*.py")
        for found in re.findall(r"docs/decisions/[\w-]+\.md", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 8
    assert [name for name in named if not (ROOT / name).exists()] == []
