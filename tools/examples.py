"""Run the examples of PyTorch's docstrings (`>>>`) on PyTorch and on Rushlight, and print what differs.

    python tools/examples.py [--only REGEX] [--keep FOLDER]

PyTorch must be installed. The docstrings' examples are collected from it, then run by three processes:
PyTorch, PyTorch again over memory that begins with other numbers, and `python -m rushlight`. What PyTorch
prints differently the second time (memory that nobody wrote to, addresses, seeds of chance, times) is no
example of anything; REASONS tells what else is left out. Texts are compared up to white space and 0.2% of
their numbers, exceptions by their types. Exit status 1 if something differs.

--only: docstrings whose names match. --keep: leave what was collected and found in a folder, as JSON.
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
    ("out of scope: nested tensors", r"torch\.nested\b", ""),
    ("out of scope: MaskedTensor", r"torch\.masked\b", r"MaskedTensor|_ops\.|\bmt\b"),
    ("out of scope: quantized tensors", r"torch\.(\w*quantize\w*|classes)", ""),
    ("out of scope: triton", r"triton", ""),
    ("out of scope: half complex numbers", "", r"torch\.complex32"),
    ("no GPU: devices are looked at when they are named", r"set_default_device|sparse_coo_tensor", r"cuda"),
    ("no tracer of ATen ops: torch.export", "", r"make_fx|proxy_tensor|\bf_\w*traced\b"),
    ("gradients of sparse ops are of public ops", r"torch\.sparse", r"grad_fn="),
    ("an object's own text or type", "", r"<(built-in method|function|\S+ object) |<\S+ at 0x"),
    ("equal elements may come in any order", r"torch\.(Tensor\.)?sort", r"\.sort\("),
    ("rounding decides", r"torch\.linalg\.solve", r"allclose"),
    ("slower than the time an example has", "", r"^TIMEOUT"),
)


# --- collecting -----------------------------------------------------------------------------------


def collect() -> list[tuple[str, list[str]]]:
    """(name, examples) of every docstring of the installed PyTorch's public names."""
    import torch

    found: dict[int, tuple[str, list[str]]] = {}

    def add(name: str, thing: Any) -> None:
        try:
            doc = thing.__doc__ if isinstance(thing, type) else inspect.getdoc(thing)
        except Exception:  # noqa: BLE001 - properties of classes may do anything
            return
        if not isinstance(doc, str) or ">>>" not in doc or id(thing) in found:
            return
        only = "\n".join(line for line in doc.splitlines() if line.strip().startswith((">>>", "...")))
        for text in (doc, only):
            with contextlib.suppress(ValueError):
                found[id(thing)] = (name, [e.source for e in doctest.DocTestParser().get_examples(text)])
                return

    for module in ["Tensor", *re.split(r"\s", MODULES)]:
        path = "torch.Tensor" if module == "Tensor" else f"torch{module}"
        holder = torch.Tensor if module == "Tensor" else importlib.import_module(path)
        for name in sorted(set(dir(holder)) | set(getattr(holder, "__all__", ()))):
            thing = getattr(holder, name, None)
            if name.startswith("_") or thing is None or isinstance(thing, types.ModuleType):
                continue
            add(f"{path}.{name}", thing)
            for inner in dir(thing) if isinstance(thing, type) else ():
                if not inner.startswith("_") and callable(method := getattr(thing, inner, None)):
                    add(f"{path}.{name}.{inner}", method)
    return list(found.values())


# --- running (by either package, whose name is torch) -------------------------------------------------


def shown(torch: Any, tree: ast.Module, scope: dict[str, Any]) -> None:
    """Run an example, and print the value of its last line or the tensors that it names."""
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        exec(compile(ast.Module(tree.body[:-1], []), "<doc>", "exec"), scope)
        value = eval(compile(ast.Expression(last.value), "<doc>", "eval"), scope)
        if value is not None:
            print(repr(value))
        return
    exec(compile(tree, "<doc>", "exec"), scope)
    for target in last.targets if isinstance(last, ast.Assign) else ():
        for name in ast.walk(target):
            if isinstance(name, ast.Name) and isinstance(scope.get(name.id), torch.Tensor):
                print(name.id, "=", repr(scope[name.id]))


def told(torch: Any, source: str, scope: dict[str, Any]) -> str:
    """What an example prints, and "RAISED" with the exception's type."""
    text = io.StringIO()
    signal.alarm(20)
    try:
        with (warnings.catch_warnings(), contextlib.redirect_stdout(text),
              contextlib.redirect_stderr(io.StringIO())):
            warnings.simplefilter("ignore")
            shown(torch, ast.parse(source), scope)
    except TimeoutError:
        return "TIMEOUT"
    except BaseException as error:  # noqa: BLE001 - compared
        return f"{text.getvalue()}RAISED {type(error).__name__}: {str(error).splitlines()[:1]}"
    finally:
        signal.alarm(0)
    return text.getvalue()


def late(*given: Any) -> None:
    """What the alarm does."""
    raise TimeoutError


def run(out: str, start: int) -> None:
    """Write what the examples print, a line per docstring, from one of them on."""
    import numpy as np
    import torch

    signal.signal(signal.SIGALRM, late)
    examples = json.loads(Path("examples.json").read_text())
    with open(out, "a", encoding="utf-8") as file:
        for _, sources in examples[start:]:
            torch.manual_seed(0), np.random.seed(0)
            scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np,
                     "math": importlib.import_module("math"), "__name__": "__main__"}
            found = [told(torch, source, scope) for source in sources]
            torch.set_default_dtype(torch.float32)
            torch.set_default_device(None)
            torch.set_printoptions(profile="default"), torch.set_grad_enabled(True)
            file.write(json.dumps(found) + "\n")
            file.flush()


def child(folder: str, program: list[str], out: str, examples: Any, **environment: str) -> list[list[str]]:
    """What processes of their own say to the collected examples; a docstring that ends one ends no more."""
    program = [sys.executable, *program, str(Path(__file__).resolve()), "--run", out, "--start"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent), **environment}
    found: list[list[str]] = []
    while len(found) < len(examples):
        Path(folder, out).write_text("".join(json.dumps(texts) + "\n" for texts in found))
        done = subprocess.run([*program, str(len(found))], cwd=folder, env=environment, check=False)
        found = [json.loads(line) for line in Path(folder, out).read_text().splitlines()]
        if len(found) < len(examples):
            found.append([f"ENDED {done.returncode}"] * len(examples[len(found)][1]))
    return found


# --- comparing ------------------------------------------------------------------------------------

NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?")


def plain(text: str) -> str:
    """Without addresses and white space."""
    return re.sub(r"\s+", "", re.sub(r"0x[0-9a-f]+", "0x", text).replace("rushlight.", "torch."))


def same(a: str, b: str) -> bool:
    """Whether two sides say the same."""
    one, other = plain(a), plain(b)
    if "RAISED" in a and "RAISED" in b:
        return one.split("RAISED")[1].split(":")[0] == other.split("RAISED")[1].split(":")[0]
    return NUMBER.sub("#", one) == NUMBER.sub("#", other) and all(
        abs(float(x) - float(y)) <= 2e-3 * max(1, abs(float(x)))
        for x, y in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True))


def why(name: str, source: str, theirs: str, ours: str) -> str | None:
    """The reason for a difference that is meant to be."""
    return next((reason for reason, where, what in REASONS if re.search(where, name) and re.search(
        what, "\n".join((source, theirs, ours)), re.MULTILINE)), None)


def kind(theirs: str, ours: str) -> str:
    """What sort of difference it is."""
    raised = ("RAISED" in theirs, "RAISED" in ours)
    return {(True, False): "PyTorch raises", (False, True): "Rushlight raises",
            (True, True): "another exception"}.get(raised, "value")


def main() -> int:
    """Collect, run, compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run(options.run, options.start)
        return 0
    folder = options.keep or tempfile.mkdtemp()
    Path(folder).mkdir(exist_ok=True)
    examples = [(name, sources) for name, sources in collect()
                if re.search(options.only, name) and not any(map(LEFT_OUT.search, sources))]
    Path(folder, "examples.json").write_text(json.dumps(examples))
    sides = (child(folder, [], "torch.json", examples),
             child(folder, [], "again.json", examples, MALLOC_PERTURB_="165"),
             child(folder, ["-m", "rushlight"], "rushlight.json", examples))
    counts: collections.Counter[str] = collections.Counter()
    for (name, sources), *found in zip(examples, *sides, strict=True):
        for n, (source, *texts) in enumerate(zip(sources, *found, strict=True)):
            counts["examples"] += 1
            if same(texts[0], texts[2]):
                continue
            reason = why(name, source, texts[0], texts[2]) or (
                None if same(*texts[:2]) else "PyTorch says something else itself the second time")
            counts[f"left out, {reason}" if reason else kind(texts[0], texts[2])] += 1
            if not reason:
                print(f"--- {name} [{n}] {kind(texts[0], texts[2])}\n    {source.strip()[:300]}")
                print(f"  T {' '.join(texts[0].split())[:300]}\n  R {' '.join(texts[2].split())[:300]}")
    print("\n".join(f"{count:6} {what}" for what, count in sorted(counts.items())))
    return int(any(not what.startswith(("left out", "examples")) for what in counts))


if __name__ == "__main__":
    sys.exit(main())
