"""Run the examples of PyTorch's docstrings (`>>>`) on PyTorch and on Rushlight, and print what differs.

    python tools/examples.py [--only REGEX] [--keep FOLDER]

The examples are collected from an installed PyTorch and run by three processes: PyTorch, PyTorch again in
memory of other numbers, and `python -m rushlight`. What PyTorch says differently a second time is no example
of anything; REASONS tells what else is left out. Texts are compared up to white space, nodes' names and 0.2%
of their numbers, exceptions by type. --only: docstrings whose names match. --keep: a folder for the results.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import doctest
import importlib
import inspect
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

# Without their first name: "" is torch itself.
MODULES = """
.nn .nn.functional .nn.init .nn.utils .nn.utils.rnn .nn.utils.parametrize .nn.utils.parametrizations
.nn.utils.prune .nn.utils.stateless .optim .optim.lr_scheduler .optim.swa_utils .utils.data
.utils.checkpoint .autograd .autograd.functional .autograd.graph .autograd.forward_ad .autograd.function
.func .linalg .fft .special .sparse .amp .testing .library .overrides .profiler .utils.benchmark .random
.serialization .jit .fx .export .nn.attention .nn.attention.flex_attention .nn.attention.bias
.signal.windows .utils.dlpack .utils.hooks .distributions .masked .nested .compiler .cuda .cpu
.backends.cuda .utils._pytree .hub .monitor .futures .storage .types .accelerator"""
# Docstrings that are not run: they reach for the network, other processes, or never end.
LEFT_OUT = re.compile(r"distributed|cuda\(\)|rpc|\.fork\(|hub\.load|download|while True|init_process_group")
# What is meant to differ, and why: a pattern of the docstring's name, one of the example or what it gave.
REASONS = (
    ("out of scope: nested and quantized tensors, triton", r"torch\.nested\b|torch\.\w*quantize|triton", ""),
    ("out of scope: MaskedTensor", r"torch\.masked\b", r"MaskedTensor|_ops\.|\bmt\b"),
    ("out of scope: half complex numbers", "", r"torch\.complex32"),
    ("no GPU: devices are refused by name", r"set_default_device|accelerator\.(Graph|synch)|cudart", ""),
    ("no tracer of ATen ops: torch.export", "", r"make_fx|proxy_tensor|\bf_\w*traced\b|functionalize"),
    ("an object's own text", "", r"<(built-in method|function|\S+ object) |<\S+ at 0x"),
    ("rounding or ties decide", r"torch\.(linalg\.solve|(Tensor\.)?sort)", r"allclose|\.sort\("),
    ("slower than an example may be", "", "RAISED KeyboardInterrupt"),
)


def collect() -> list[tuple[str, list[str]]]:
    """(name, examples) of every docstring of the installed PyTorch's public names."""
    found: dict[int, tuple[str, list[str]]] = {}

    def add(name: str, thing: Any) -> None:
        try:
            doc = thing.__doc__ if isinstance(thing, type) else inspect.getdoc(thing)
        except Exception:
            doc = None
        if not isinstance(doc, str) or ">>>" not in doc or id(thing) in found:
            return
        lines = [line for line in doc.splitlines() if line.strip().startswith((">>>", "..."))]
        for text in ("\n".join(lines), doc):
            with contextlib.suppress(ValueError):
                found[id(thing)] = (name, [e.source for e in doctest.DocTestParser().get_examples(text)])

    torch = importlib.import_module("torch")
    homes = {f"torch{name}": importlib.import_module(f"torch{name}") for name in re.split(r"\s", MODULES)}
    for path, home in {"torch.Tensor": torch.Tensor, **homes}.items():
        for name in sorted(set(dir(home)) | set(getattr(home, "__all__", ()))):
            thing = getattr(home, name, None)
            if name.startswith("_") or thing is None or isinstance(thing, types.ModuleType):
                continue
            add(f"{path}.{name}", thing)
            for inner in dir(thing) if isinstance(thing, type) else ():
                if not inner.startswith("_") and callable(method := getattr(thing, inner, None)):
                    add(f"{path}.{name}.{inner}", method)
    return list(found.values())


def told(torch: Any, source: str, scope: dict[str, Any]) -> str:
    """What an example prints, the value of its last line or the tensors that it names; the error."""
    text = io.StringIO()
    signal.alarm(20)
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            contextlib.redirect_stdout(text),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            tree = ast.parse(source)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<doc>", "exec"), scope)
            if last is not None and (value := eval(ast.unparse(last), scope)) is not None:
                print(repr(value))
            targets = tree.body[-1].targets if tree.body and isinstance(tree.body[-1], ast.Assign) else ()
            for name in (n for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)):
                if last is None and isinstance(scope.get(name.id), torch.Tensor):
                    print(name.id, "=", repr(scope[name.id]))
    except BaseException as error:
        return f"{text.getvalue()}RAISED {type(error).__name__}: {str(error).splitlines()[:1]}"
    finally:
        signal.alarm(0)
    return text.getvalue()


def run(out: str, start: int) -> None:
    """Write what the examples say to the package named torch, a line per docstring, from one of them on."""
    import numpy as np
    import torch

    signal.signal(signal.SIGALRM, signal.default_int_handler)
    with open(out, "a", encoding="utf-8") as file:
        for _, sources in json.loads(Path("examples.json").read_text())[start:]:
            torch.manual_seed(0), np.random.seed(0)
            scope = {"torch": torch, "nn": torch.nn, "np": np, "math": math, "__name__": "__main__"}
            scope["F"] = torch.nn.functional
            found = [told(torch, source, scope) for source in sources]
            torch.set_default_dtype(torch.float32)
            torch.set_default_device(None)
            torch.set_printoptions(profile="default"), torch.set_grad_enabled(True)
            print(json.dumps(found), file=file, flush=True)


def child(folder: Path, program: list[str], out: str, examples: Any, **environment: str) -> list[list[str]]:
    """What processes of their own say to the collected examples; a docstring that ends one ends no more."""
    program = [sys.executable, *program, str(Path(__file__).resolve()), "--run", out, "--start"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent), **environment}
    found: list[list[str]] = []
    while len(found) < len(examples):
        (folder / out).write_text("".join(json.dumps(texts) + "\n" for texts in found))
        done = subprocess.run([*program, str(len(found))], cwd=folder, env=environment, check=False)
        found = [json.loads(line) for line in (folder / out).read_text().splitlines()]
        if len(found) < len(examples):
            found.append([f"ENDED {done.returncode}"] * len(examples[len(found)][1]))
    return found


NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?")


def same(a: str, b: str) -> bool:
    """Whether two sides say the same: addresses, white space and names of nodes are nobody's business."""
    one, other = (
        re.sub(r"(?<=0x)[0-9a-f]+|(?<=grad_fn=)<\w+>|\s+", "", text.replace("rushlight.", "torch."))
        for text in (a, b)
    )
    if "RAISED" in a and "RAISED" in b:
        return one.split("RAISED")[1].split(":")[0] == other.split("RAISED")[1].split(":")[0]
    return NUMBER.sub("#", one) == NUMBER.sub("#", other) and all(
        abs(float(x) - float(y)) <= 2e-3 * max(1, abs(float(x)))
        for x, y in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    )


def verdict(name: str, source: str, theirs: str, again: str, ours: str) -> str:
    """What sort of difference it is: "left out, ..." with the reason for one that is meant to be."""
    told = "\n".join((source, theirs, ours))
    reason = next((w for w, where, what in REASONS if re.search(where, name) and re.search(what, told)), "")
    if not reason and "RAISED" not in ours and not same(theirs, again):
        reason = "PyTorch says something else itself the second time"
    if reason:
        return f"left out, {reason}"
    kinds = ("value", "PyTorch raises", "Rushlight raises", "another exception")
    return kinds[("RAISED" in theirs) + 2 * ("RAISED" in ours)]


def main() -> int:
    """Collect, run, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", default=tempfile.gettempdir() + "/examples", type=Path)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run(options.run, options.start)
        return 0
    options.keep.mkdir(exist_ok=True)
    examples = [
        (name, sources)
        for name, sources in collect()
        if re.search(options.only, name) and not any(map(LEFT_OUT.search, sources))
    ]
    (options.keep / "examples.json").write_text(json.dumps(examples))
    sides = (
        child(options.keep, [], "torch.json", examples),
        child(options.keep, [], "again.json", examples, MALLOC_PERTURB_="165"),
        child(options.keep, ["-m", "rushlight"], "rushlight.json", examples),
    )
    counts = collections.Counter({"examples": sum(len(sources) for _, sources in examples)})
    for (name, sources), *found in zip(examples, *sides, strict=True):
        for n, (source, *texts) in enumerate(zip(sources, *found, strict=True)):
            kind = "" if same(texts[0], texts[2]) else verdict(name, source, *texts)
            counts.update([kind] if kind else [])
            if kind and not kind.startswith("left out"):
                print(f"--- {name} [{n}] {kind}\n    {source.strip()[:300]}")
                print(f"  T {' '.join(texts[0].split())[:300]}\n  R {' '.join(texts[2].split())[:300]}")
    print("\n".join(f"{count:6} {what}" for what, count in sorted(counts.items())))
    return int(any(not what.startswith(("left out", "examples")) for what in counts))


if __name__ == "__main__":
    sys.exit(main())
