"""Sweep programs for values that were baked in: what a program was made with must not be what it answers.

    python tools/sweep_values.py PATH/TO/conformance.py [WAY ...] [--ops REGEX] [--samples N] [--turned]

PyTorch's operator database draws each sample a few times over, from other seeds: the same shapes with other
values, and once more with zeros and repetitions among them. A program is made of the call with the first
values (by each WAY; of all, without one) and is then given the others. It must answer what eager answers, or
refuse. With --turned the operator's arguments are views of what was computed before it, not contiguous. What
differs is printed, a line per operator and way; `'` behind a way means: with gradients.
"""

from __future__ import annotations

import argparse
import itertools
import re
import signal
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import sweep
import torch
from torch.utils._pytree import tree_leaves

import rushlight

Function = Callable[..., Any]
DRAWS = re.compile(sweep.DRAWS.pattern + "|empty|uniform|pca")


class TookTooLong(Exception):
    """A call ran past its limit."""


def _stop(number: int, frame: Any) -> None:
    raise TookTooLong


def compiled(**how: Any) -> Callable[[Function, list[Any]], Function]:
    """A way to make a program: by compile()."""

    def make(function: Function, first: list[Any]) -> Function:
        rushlight.compiler.reset()
        program = rushlight.compile(function, **how)
        for _ in range(3):
            program(*first)
        return program

    return make


def by_make_fx(function: Function, first: list[Any]) -> Function:
    """A way to make a program: by make_fx."""
    from rushlight.fx.experimental.proxy_tensor import make_fx

    return make_fx(function)(*first)


def by_trace(function: Function, first: list[Any]) -> Function:
    """A way to make a program: by jit.trace."""
    program: Function = rushlight.jit.trace(function, tuple(first), check_trace=False, strict=False)
    return program


def by_export(function: Function, first: list[Any]) -> Function:
    """A way to make a program: by export."""
    module = type("Calls", (rushlight.nn.Module,), {"forward": lambda self, *given: function(*given)})()
    program: Function = rushlight.export.export(module, tuple(first)).module()
    return program


WAYS = {
    "compile": compiled(),
    "overhead": compiled(mode="reduce-overhead"),
    "make_fx": by_make_fx,
    "trace": by_trace,
    "export": by_export,
}


def turned(function: Function) -> Function:
    """The function of arguments that are views, not contiguous, of what was computed before."""

    def call(*args: Any) -> Any:
        return function(*[t.transpose(0, -1).clone().transpose(0, -1) if t.ndim > 1 else t for t in args])

    return call


def torch_sum(tensors: list[Any]) -> Any:
    """The sum of tensors."""
    total = tensors[0]
    for t in tensors[1:]:
        total = total + t
    return total


def with_gradients(function: Function) -> Function:
    """The function's results, and the gradients of their sum in all arguments of floats."""

    def call(*args: Any) -> list[Any]:
        own = [t.detach().clone().requires_grad_(t.is_floating_point() or t.is_complex()) for t in args]
        found = function(*own)
        results = [t for t in tree_leaves(found) if isinstance(t, rushlight.Tensor)]
        tracked = [t for t in results if t.requires_grad]
        if tracked:
            torch_sum([t.abs().sum() for t in tracked]).backward()
        return [*(t.detach() for t in results), *(t.grad for t in own if t.grad is not None)]

    return call


def drawings(op: Any, of: torch.dtype, most: int) -> Iterator[list[Any]]:
    """Samples of the operator, each in a few drawings: the same shapes, other values."""
    drawn = []
    for seed in (0, 1, 2):
        torch.manual_seed(seed)
        drawn.append(
            list(itertools.islice(op.sample_inputs("cpu", of, requires_grad=False, set_seed=False), most))
        )
    for several in zip(*drawn, strict=False):
        if len({shapes(sample) for sample in several}) == 1:
            yield list(several)


def shapes(sample: Any) -> str:
    """What drawings of a sample must have in common."""
    parts = tree_leaves((sample.input, sample.args, sample.kwargs))
    return str(
        [
            (v.dtype, tuple(v.shape), v.stride()) if isinstance(v, torch.Tensor) else type(v).__name__
            for v in parts
        ]
    )


def degenerate(tensors: list[Any]) -> list[Any]:
    """The same tensors with zeros and repetitions among their elements."""
    found = []
    for t in tensors:
        flat = t.reshape(-1).clone()
        flat[::2] = 0
        found.append(t.clone().copy_(flat.reshape(t.shape)))
    return found


def apart(given: Any, wanted: Any) -> str:
    """How a program's answer differs from eager's; an empty text where it does not."""
    a, b = (
        [v for v in tree_leaves(list(found) if isinstance(found, tuple) else found)]
        for found in (given, wanted)
    )
    a, b = ([v for v in found if isinstance(v, rushlight.Tensor)] for found in (a, b))
    if len(a) != len(b):
        return f"{len(a)} results, not {len(b)}"
    for x, y in zip(a, b, strict=True):
        if x.shape != y.shape:
            return f"shape {tuple(x.shape)}, not {tuple(y.shape)}"
        try:
            rushlight.testing.assert_close(x, y, equal_nan=True, check_layout=False)
        except AssertionError as error:
            return " ".join(str(error).split())[:100]
    return ""


def attempt(function: Function, args: list[Any]) -> Any:
    """What a call gives, or its exception."""
    signal.alarm(20)
    try:
        rushlight.manual_seed(0)
        return function(*args)
    except TookTooLong:
        return TookTooLong()
    except Exception as error:
        return error
    finally:
        signal.alarm(0)


def check(way: str, function: Function, values: list[list[Any]], strict: bool) -> str:
    """How a program of the first values differs from eager with the others; empty where it does not."""
    if isinstance(attempt(function, [t.clone() for t in values[0]]), Exception):
        return ""
    clones = [[t.clone() for t in args] for args in values]
    program = attempt(WAYS[way], (function, clones[0]))  # type: ignore[arg-type]
    if isinstance(program, Exception):
        return "" if not strict else f"not made: {type(program).__name__} {str(program)[:80]}"
    for n in (1, 2, 3, 0, 2):
        wanted = attempt(function, [t.clone() for t in values[n]])
        given = attempt(program, [t.clone() for t in values[n]])
        if isinstance(wanted, Exception) or isinstance(given, Exception):
            if isinstance(wanted, Exception) and not isinstance(given, Exception) and strict:
                return f"drawing {n}: answers, where eager raises {type(wanted).__name__} {str(wanted)[:60]}"
            if isinstance(given, Exception) and not isinstance(wanted, Exception):
                return f"drawing {n}: raises {type(given).__name__} {str(given)[:80]}"
            continue
        if text := apart(given, wanted):
            return f"drawing {n}: {text}"
    return ""


def main() -> int:
    """Sweep, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("harness")
    parser.add_argument("ways", nargs="*", default=[])
    parser.add_argument("--ops", default="")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--turned", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _stop)
    h = sweep.harness(options.harness)
    mine, ops, wrong = h.Backend(rushlight), 0, 0
    for op in h.op_db:
        targets = h.function_targets(op)
        if not re.search(options.ops, op.full_name) or not targets or DRAWS.search(op.full_name):
            continue
        if h.resolve(rushlight, targets[0].path) is None:
            continue
        ops += 1
        found = of_operator(op, targets[0], mine, h, options)
        wrong += bool(found)
        for line in found:
            print(f"{op.full_name}\t{line}", flush=True)
    print(f"{ops} operators, {wrong} differ")
    return 1 if wrong else 0


def of_operator(op: Any, target: Any, mine: Any, h: Any, options: argparse.Namespace) -> list[str]:
    """The lines of what differs for one operator."""
    try:
        return _of_operator(op, target, mine, h, options)
    except Exception as error:
        return [f"-\tthe sweep itself: {type(error).__name__} {str(error)[:100]}"]


def _of_operator(op: Any, target: Any, mine: Any, h: Any, options: argparse.Namespace) -> list[str]:
    of = sweep.Sweep.first(op, torch.float32, torch.int64, torch.bool)
    call = mine.rebind(target.source or h.resolve(rushlight, target.path))
    found: dict[str, None] = {}
    try:
        samples = list(drawings(op, of, options.samples))
    except Exception:
        return []
    for sample in samples:
        functions = [alone(call, *mine.adopt((s.input, s.args, s.kwargs))) for s in sample]
        function, values = functions[0][0], [tensors for _, tensors in functions]
        function = turned(function) if options.turned else function
        if not values[0]:
            continue
        values.append(degenerate(values[0]))
        for way in options.ways or WAYS:
            for mark, asked in (("", function), ("'", with_gradients(function))):
                if mark and (not op.supports_autograd or way in ("trace", "export")):
                    continue
                strict = way in ("compile", "overhead")
                if text := check(way, asked, values, strict):
                    found[f"{way}{mark}\t{text}"] = None
    return list(found)


def alone(f: Function, x: Any, args: Any, kwargs: Any) -> tuple[Function, list[Any]]:
    """The call as a function of its tensors alone, and these."""
    return sweep.alone(rushlight, f, x, args, kwargs)


if __name__ == "__main__":
    raise SystemExit(main())
