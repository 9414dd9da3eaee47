"""Modules of other people's repositories, each run alone on PyTorch and on Rushlight.

    PYTHON tools/harvested.py run OUT.jsonl FILE... [--stages eval,train,script,fx] [--most CASES]
    python -m rushlight tools/harvested.py run OUT.jsonl FILE... [--stages ...] [--device cuda]
    python tools/harvested.py compare PYTORCH.jsonl RUSHLIGHT.jsonl

The FILEs are those of the folder `generated` of jansel/pytorch-jit-paritybench: each has the modules of one
repository, and a list TESTCASES of (class, its arguments, those of its forward, _). `run` goes through the
stages in a process for each file:

    eval          a call in eval mode
    train         a call in training mode, with gradients, in float64, where sums in another order agree
    script, fx    as TorchScript, as a traced graph
    saved, frozen  as TorchScript that was saved and loaded; that torch.jit.freeze has frozen
    trace         as torch.jit.trace records and checks it
    compile       several calls under torch.compile(); PyTorch's side are its eager calls
    compiletrain  the same, as train
    graph         the whole graph that a backend is handed
    export        the exported program's numbers and ops
    dynamic       the same, at twice the batch size, which is left open

`compare` counts what PyTorch runs, and shows what differs (shapes, dtypes, sums of values and of gradients to
four digits) and what takes ten times its time. Memory that nothing wrote (`torch.Tensor(n)` as a parameter)
differs without fault.

With `--device` modules and inputs are made on the CPU as ever, and moved there; layers of dropout drop
nothing, since devices draw numbers of their own. A device is compared with what `--device cpu` gives.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import math
import os
import random
import re
import signal
import sys
import time
import types
import unittest
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 20  # for a stage of a case
_NOTICED = 1.0  # seconds, below which nobody minds
_FILE_SECONDS = 400
_CALLS = 4  # of a compiled module: recorded, compared, compiled, run
_OFTEN = ("matplotlib", "pandas", "scipy", "sklearn", "PIL")  # imported by every file, where they are there
_UNNEEDED = ("tensorflow", "torchaudio", "torchtext")  # imported by every file, used by few


class Late(Exception):
    """A stage takes too long."""


def _late(*_: Any) -> None:
    raise Late(f"{SECONDS} s")


# --- what the files import ------------------------------------------------------------------------


class _Anything(types.ModuleType):
    """A module in which every name is a module, and can be called and derived from."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__spec__ = importlib.util.spec_from_loader(name, None)
        sys.modules[name] = self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _Anything(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (object,)

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class _Config(dict[str, Any]):
    """A program's settings, by attribute."""

    __getattr__ = dict.__getitem__


def _helpers(torch: Any) -> types.ModuleType:
    """The module _paritybench_helpers, as far as the files need it."""

    def layer(inner: Any = None, outer: Any = None, *_: Any, **kwargs: Any) -> Any:
        return torch.nn.Linear(inner, outer, **kwargs) if inner and outer else torch.nn.ReLU()

    def patch() -> None:
        spaces = (torch.functional, torch.nn.functional)
        names = [{n for n in dir(space) if re.match("[a-z]", n)} for space in spaces]
        for one, other, missing in ((*spaces, names[0] - names[1]), (*spaces[::-1], names[1] - names[0])):
            for name in missing:
                setattr(other, name, getattr(one, name))

    made = types.ModuleType("_paritybench_helpers")
    made.__dict__.update(
        _mock_config=_Config,
        _mock_layer=layer,
        patch_functional=patch,
        _paritybench_base=unittest.TestCase,
        _fails_compile=lambda: unittest.skip("not needed"),
    )
    return made


# --- running --------------------------------------------------------------------------------------


def told(torch: Any, value: Any) -> Any:
    """A result in numbers that can be compared."""
    if isinstance(value, torch.Tensor):
        t = value.detach().cpu()
        t = t.to_dense() if t.layout is not torch.strided else t
        t = torch.view_as_real(t) if t.is_complex() else t
        flat = t.double().reshape(-1)
        weights = torch.cos(torch.arange(flat.numel(), dtype=torch.float64))
        sums = [float(flat.sum()), float((flat * weights).sum()), float(flat.abs().sum())]
        kind = [list(value.shape), str(value.dtype), bool(value.requires_grad)]
        return {"kind": kind, "sums": sums}
    if isinstance(value, (list, tuple)):
        return [told(torch, v) for v in value]
    if isinstance(value, dict):
        return {str(k): told(torch, v) for k, v in value.items()}
    if isinstance(value, (int, float, str, bool, type(None))):
        return value
    return type(value).__name__


def _tensors(torch: Any, value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors(torch, item)


def _seeded(torch: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    return function(*args, **kwargs)


def _trained(torch: Any, module: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The results of a step, gradients and buffers, in float64."""

    def double(value: Any) -> Any:
        floats = isinstance(value, torch.Tensor) and value.is_floating_point()
        return value.double().requires_grad_() if floats else value

    args = [double(v) for v in args]
    result = _seeded(torch, module, *args, **{k: double(v) for k, v in kwargs.items()})
    found = [t for t in _tensors(torch, result) if t.requires_grad and t.is_floating_point()]
    if found:
        waves = [torch.cos(torch.arange(t.numel(), dtype=t.dtype)).reshape(t.shape) for t in found]
        weights = [w.to(t.device) for w, t in zip(waves, found, strict=True)]
        sum((t * w).sum() for t, w in zip(found, weights, strict=True)).backward()
    return told(
        torch,
        {
            "result": result,
            "gradients": {name.removeprefix("_orig_mod."): p.grad for name, p in module.named_parameters()},
            "of inputs": [v.grad for v in args if isinstance(v, torch.Tensor) and v.is_leaf],
            "buffers": {name.removeprefix("_orig_mod."): b for name, b in module.named_buffers()},
        },
    )


def _moved(torch: Any, value: Any, device: str) -> Any:
    """An argument on a device."""
    if isinstance(value, (torch.Tensor, torch.nn.Module)):
        return value.to(device)
    if isinstance(value, dict):
        return type(value)({k: _moved(torch, v, device) for k, v in value.items()})
    return type(value)(_moved(torch, v, device) for v in value) if type(value) in (list, tuple) else value


def _steady(torch: Any, module: Any) -> Any:
    """A module whose layers of dropout drop nothing."""
    for layer in module.modules():
        if isinstance(layer, torch.nn.modules.dropout._DropoutNd):
            layer.p = 0.0
    return module


def _compiled(torch: Any, module: Any) -> Any:
    """The module under torch.compile(); PyTorch's as it is, which is what compiled calls are to give."""
    return torch.compile(module) if "rushlight" in torch.__file__ else module


def _doubled(torch: Any, value: Any) -> Any:
    """The arguments at twice their batch size."""
    if isinstance(value, torch.Tensor):
        return torch.cat([value, value]) if value.ndim else value
    if isinstance(value, (list, tuple)):
        return type(value)(_doubled(torch, v) for v in value)
    return {k: _doubled(torch, v) for k, v in value.items()} if isinstance(value, dict) else value


def _graph(torch: Any, module: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What the whole graph gives that a backend is handed."""
    made = torch.compile(module, backend=lambda graph, _: graph.forward, fullgraph=True)
    return _seeded(torch, made, *args, **kwargs)


def _exported(torch: Any, module: Any, args: list[Any], kwargs: dict[str, Any], dynamic: bool) -> Any:
    opened: Any = None
    if dynamic:
        auto = torch.export.Dim.AUTO
        tree = torch.utils._pytree.tree_map
        of = lambda v: {0: auto} if isinstance(v, torch.Tensor) and v.ndim else None  # noqa: E731
        opened = (tree(of, tuple(args)), tree(of, kwargs))
        opened = [*opened[0], *opened[1].values()] if kwargs else opened[0]
    return torch.export.export(module, tuple(args), kwargs, dynamic_shapes=opened)


def _scripted(torch: Any, module: Any, name: str) -> Any:
    """The module as TorchScript, which came from a file or was frozen as the stage's name says."""
    made = torch.jit.script(module)
    if name == "saved":
        file = io.BytesIO()
        torch.jit.save(made, file)
        file.seek(0)
        return torch.jit.load(file)
    return torch.jit.freeze(made) if name == "frozen" else made


def _of_export(torch: Any, module: Any, args: list[Any], kwargs: dict[str, Any], name: str) -> Any:
    program = _exported(torch, module, args, kwargs, name == "dynamic")
    ops = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    if name == "dynamic":
        args, kwargs = _doubled(torch, args), _doubled(torch, kwargs)
    return {"result": _seeded(torch, program.module(), *args, **kwargs), "ops": ops}


def stage(torch: Any, case: Any, name: str, device: str = "") -> Any:
    """What one stage of a case gives, on a device if one is named."""
    args, kwargs = _seeded(torch, case[1])
    module = _seeded(torch, case[0], *args, **kwargs)
    args, kwargs = _seeded(torch, case[2])
    if device:
        module = _steady(torch, module).to(device)
        args, kwargs = _moved(torch, args, device), _moved(torch, kwargs, device)
    if name in ("train", "compiletrain"):
        module.double().train()
        if name == "train":
            return _trained(torch, module, args, kwargs)
        made = _compiled(torch, module)
        return [_trained(torch, made, args, kwargs) for _ in range(_CALLS)]
    module.eval()
    if name == "compile":
        made = _compiled(torch, module)
        return [told(torch, _seeded(torch, made, *args, **kwargs)) for _ in range(_CALLS)]
    if name == "graph":
        return told(torch, _graph(torch, module, args, kwargs))
    if name in ("export", "dynamic"):
        return told(torch, _of_export(torch, module, args, kwargs, name))
    if name in ("script", "saved", "frozen"):
        module = _scripted(torch, module, name)
    elif name == "trace":
        module = _seeded(
            torch, torch.jit.trace, module, tuple(args) or None, example_kwarg_inputs=kwargs or None
        )
    elif name == "fx":
        module = torch.fx.symbolic_trace(module)
    elif name != "eval":
        raise SystemExit(f"no stage {name}")
    return told(torch, _seeded(torch, module, *args, **kwargs))


def _guarded(function: Callable[..., Any], *args: Any) -> Any:
    """A function's result, or its error in words."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of computing: others may use the machine
    try:
        return function(*args)
    except Exception as error:
        return {"error": type(error).__name__, "text": str(error)[:300]}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _loaded(path: Path) -> list[Any]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return list(module.TESTCASES)


def run_file(torch: Any, path: Path, stages: list[str], out: Path, most: int, device: str = "") -> None:
    """Write a line for each stage of each of the first `most` cases of a file."""
    with out.open("a", encoding="utf-8") as lines:

        def write(case: Any, name: str, result: Any, begin: float = math.inf) -> None:
            seconds = round(max(time.process_time() - begin, 0.0), 3)
            lines.write(json.dumps([path.stem, case, name, result, seconds]) + "\n")
            lines.flush()

        cases = _guarded(_loaded, path)
        if isinstance(cases, dict):
            write(-1, "import", cases)
            return
        for number, case in enumerate(cases[:most]):
            for name in stages:
                begin = time.process_time()
                write(number, name, _guarded(stage, torch, case, name, device), begin)


def run(out: Path, files: list[Path], stages: list[str], most: int, device: str) -> None:
    """Run the files, each in a child of this process, which has loaded what they import."""
    import torch
    import torchvision  # noqa: F401  # files import it

    torch.set_num_threads(1)
    for name in _OFTEN:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in _UNNEEDED:
        _Anything(name)
    sys.modules["_paritybench_helpers"] = _helpers(torch)
    signal.signal(signal.SIGPROF, _late)
    for path in files:
        child = os.fork()
        if not child:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            try:
                run_file(torch, path, stages, out, most, device)
            finally:
                os._exit(0)
        end = time.monotonic() + _FILE_SECONDS
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
                end = math.inf
            time.sleep(0.01)


# --- comparing ------------------------------------------------------------------------------------


def difference(a: Any, b: Any, where: str = "") -> str:
    """The first place where two results differ; "" where they are the same."""
    if isinstance(a, dict) and isinstance(b, dict):
        if "sums" in a and "sums" in b:
            return _apart(a, b, where)
        if a.keys() != b.keys():
            return f"{where}: {sorted(a)[:6]} and {sorted(b)[:6]}"
        pairs = [(key, a[key], b[key]) for key in a]
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = [(str(i), *both) for i, both in enumerate(zip(a, b, strict=True))]
    else:
        near = (
            isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6)
        )
        return "" if a == b or near else f"{where}: {str(a)[:80]} and {str(b)[:80]}"
    return next((found for key, x, y in pairs if (found := difference(x, y, f"{where}.{key}"))), "")


def _apart(a: Any, b: Any, where: str) -> str:
    if a["kind"] != b["kind"]:
        return f"{where}: {a['kind']} and {b['kind']}"
    scale = max(a["sums"][2], b["sums"][2])
    limit = 2e-4 * scale + 1e-5 if math.isfinite(scale) else 0.0
    near = all(
        x == y or (x != x and y != y) or abs(x - y) <= limit
        for x, y in zip(a["sums"], b["sums"], strict=True)
    )
    return "" if near else f"{where}: sums {a['sums']} and {b['sums']}"


def _results(path: Path) -> tuple[dict[tuple[str, int, str], Any], dict[tuple[str, int, str], float]]:
    """The results in a file, and the seconds that they took."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {tuple(line[:3]): line[3] for line in lines}, {tuple(line[:3]): sum(line[4:]) for line in lines}


def _fails(result: Any) -> bool:
    return isinstance(result, dict) and "error" in result


def compare(theirs: Path, ours: Path) -> None:
    """Print how many of what PyTorch runs is the same, by stage, and what is not."""
    (pytorch, before), (rushlight, after) = _results(theirs), _results(ours)
    of, same, found = Counter[str](), Counter[str](), list[str]()
    for key, wanted in pytorch.items():
        if _fails(wanted) or key[2] == "import":
            continue
        of[key[2]] += 1
        result = rushlight.get(key, {"error": "nothing", "text": "the file's process ended before"})
        words = f"{result['error']}: {result['text']}" if _fails(result) else difference(wanted, result)
        same[key[2]] += not words
        found += [f"{key[2]} {key[0]} {key[1]}  {words}"] if words else []
        if after.get(key, 0.0) > max(10 * before[key], _NOTICED * (10 if "compile" in key[2] else 1)):
            found.append(f"slow {key[2]} {key[0]} {key[1]}  {before[key]} s and {after[key]} s")
    for name in of:
        print(f"{name}: {same[name]} of {of[name]}")
    print("\n".join(sorted(found)))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("out", type=Path)
    running.add_argument("files", type=Path, nargs="+")
    running.add_argument("--stages", default="eval,train,script,fx")
    running.add_argument("--most", type=int, default=1000, help="cases of a file")
    running.add_argument("--device", default="", help="where modules and inputs are moved")
    comparing = commands.add_parser("compare")
    comparing.add_argument("pytorch", type=Path)
    comparing.add_argument("rushlight", type=Path)
    given = parser.parse_args()
    if given.command == "run":
        run(given.out, given.files, given.stages.split(","), given.most, given.device)
    else:
        compare(given.pytorch, given.rushlight)


if __name__ == "__main__":
    main()
