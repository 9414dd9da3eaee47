"""Sweep PyTorch's operator database beside PyTorch: refused dtypes, the meta device, vmap, traces, exports.

    python tools/sweep.py PATH/TO/conformance.py WAY [--ops REGEX] [--samples N]

The harness copies samples into both packages; here each sample is called in another way on both sides, and
what differs is printed, a line per operator: one side raises and the other does not, or another exception; a
dtype, a shape; on meta also strides. Values are the harness's business, but for vmap and jvp.
"""

from __future__ import annotations

import argparse
import importlib
import io
import itertools
import json
import linecache
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

import rushlight
from rushlight._engine.devices.cuda import api as cuda

DTYPES = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 "
    "complex128"
).split()
WAYS = (
    "dtypes strides meta vmap jvp trace script export onnx deterministic sizes dims layouts out inplace "
    "mistyped cuda"
).split()
# What stands in turn for each argument of a call, where it has no business or hardly any.
STRANGERS: dict[str, Any] = {
    "str": "a",
    "float": 1.5,
    "None": None,
    "object": object(),
    "list": [],
    "dict": {},
    "dtype": torch.int64,
    "complex": 1j,
    "strings": ["a"],
}
# Operators that draw: on CUDA their numbers are another generator's.
DRAWS = re.compile(
    "rand|normal|bernoulli|multinomial|dropout|exponential|cauchy|geometric|uniform|rrelu|lowrank|fractional|scaled_dot|multi_head"
)
# Vectors that are defined up to a phase: of these, magnitudes are compared.
PHASES = {"linalg.eig", "linalg.eigh", "svd_lowrank", "pca_lowrank"}
# way -> operator -> why it differs, where PyTorch's own answer is the odd one or none is defined
EXCEPTIONS = json.loads(Path(__file__).with_name("sweep_exceptions.json").read_text())


def harness(path: str) -> Any:
    """The harness as a module."""
    sys.path.insert(0, str(Path(path).parent))
    return importlib.import_module("conformance")


Case = tuple[str, Callable[[Any], Any], Callable[[Any], Any]]


class Sweep:
    """One way to call samples, on both sides."""

    def __init__(self, h: Any, samples: int) -> None:
        self.harness, self.samples, self.mine = h, samples, h.Backend(rushlight)

    def call(self, backend: Any, target: Any) -> Callable[..., Any]:
        """The operator of one side."""
        found: Callable[..., Any] = backend.rebind(
            target.source or self.harness.resolve(backend.package, target.path)
        )
        return found

    def drawn(self, op: Any, of: torch.dtype, grad: bool = False) -> list[Any]:
        """Samples of the operator."""
        try:
            return list(itertools.islice(op.sample_inputs("cpu", of, requires_grad=grad), self.samples))
        except Exception:
            return []

    @staticmethod
    def first(op: Any, *wanted: torch.dtype) -> torch.dtype:
        """A dtype that the operator takes."""
        return next((d for d in (*wanted, *sorted(op.dtypes, key=str)) if d in op.dtypes), torch.float32)

    def both(self, target: Any, use: Callable[..., Any], sample: Any) -> tuple[Any, Any]:
        """What `use` (package, function, input, args, kwargs) gives on both sides, exceptions too."""
        found = []
        for backend in (self.harness.REFERENCE, self.mine):
            parts = backend.adopt((sample.input, sample.args, sample.kwargs))
            try:
                torch.manual_seed(0), rushlight.manual_seed(0)
                found.append(use(backend.package, self.call(backend, target), *parts))
            except Exception as error:
                found.append(error)
        return found[0], found[1]

    # --- the ways -----------------------------------------------------------------------------------

    def dtypes(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """Samples of a dtype that the operator takes, converted to every other one."""
        base = self.first(op, torch.float32, torch.int64, torch.complex64, torch.bool)
        for n, sample in enumerate(self.drawn(op, base)):
            for name in DTYPES:
                to = getattr(torch, name)
                with_dtype = sample.transform(
                    lambda x, to=to: x.to(to) if isinstance(x, torch.Tensor) and x.dtype == base else x
                )
                theirs, mine = self.both(target, lambda _, f, x, a, k: f(x, *a, **k), with_dtype)
                if text := differ(theirs, mine):
                    yield name, f"[{n}] {text}"

    def strides(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """The operator as it is, for the results' strides."""
        for n, sample in enumerate(self.drawn(op, self.first(op, torch.float32, torch.int64, torch.bool))):
            theirs, mine = self.both(target, lambda _, f, x, a, k: f(x, *a, **k), sample)
            if text := differ(theirs, mine, strides=True):
                yield "cpu", f"[{n}] {text}"

    def meta(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """The operator on the meta device."""

        def use(package: Any, f: Any, x: Any, args: Any, kwargs: Any) -> Any:
            def moved(v: Any) -> Any:
                return v.to("meta") if isinstance(v, package.Tensor) else v

            kwargs = {k: package.device("meta") if k == "device" else v for k, v in kwargs.items()}
            return f(*tree_map(moved, (x, *args)), **tree_map(moved, kwargs))

        for n, sample in enumerate(self.drawn(op, self.first(op, torch.float32, torch.int64, torch.bool))):
            theirs, mine = self.both(target, use, sample)
            if text := differ(theirs, mine, strides=True):
                yield "meta", f"[{n}] {text}"

    def vmap(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """vmap over a new dim of every tensor of floats, of two examples."""
        base = self.first(op, torch.float32, torch.int64, torch.bool)

        def use(package: Any, f: Any, x: Any, args: Any, kwargs: Any) -> Any:
            leaves, spec = tree_flatten((x, args, kwargs))
            of = getattr(package, str(base)[6:])
            at = [i for i, v in enumerate(leaves) if isinstance(v, package.Tensor) and v.dtype == of]

            def one(*tensors: Any) -> Any:
                given = list(leaves)
                for i, t in zip(at, tensors, strict=True):
                    given[i] = t
                x, args, kwargs = tree_unflatten(given, spec)
                return f(x, *args, **kwargs)

            batches = [package.stack([leaves[i], leaves[i]]) for i in at]
            return package.func.vmap(one, randomness="same")(*batches)

        for n, sample in enumerate(self.drawn(op, base)):
            theirs, mine = self.both(target, use, sample)
            if isinstance(theirs, Exception):
                continue  # PyTorch refuses more than it need
            if text := differ(
                theirs, mine, values=op.name not in self.harness.UNINITIALISED, phases=op.name in PHASES
            ):
                yield "vmap", f"[{n}] {text}"

    def trace(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """torch.jit.trace of the operator as a function of its tensors, and what the program gives."""

        def use(package: Any, f: Any, x: Any, args: Any, kwargs: Any) -> Any:
            one, tensors = alone(package, f, x, args, kwargs)
            return package.jit.trace(one, tuple(tensors), check_trace=False, strict=False)(*tensors)

        return self.programs(op, target, "trace", use)

    def script(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """torch.jit.script of a function whose text calls the operator on its tensors and constants."""

        def use(package: Any, f: Any, x: Any, args: Any, kwargs: Any) -> Any:
            text, tensors = spelled(package, target.path, x, args, kwargs)
            return package.jit.script(defined(package, text))(*tensors)

        return self.programs(op, target, "script", use)

    def onnx(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """torch.onnx.export by Rushlight, run by onnxruntime, beside PyTorch's eager results."""
        exact = op.name not in self.harness.UNINITIALISED and not DRAWS.search(op.name)
        for n, sample in enumerate(self.drawn(op, self.first(op, torch.float32, torch.int64, torch.bool))):
            theirs, _ = self.both(target, lambda _, f, x, a, k: f(x, *a, **k), sample)
            if isinstance(theirs, Exception) or not exact:
                continue
            parts = self.mine.adopt((sample.input, sample.args, sample.kwargs))
            try:
                mine: Any = through_onnx(self.call(self.mine, target), *parts)
            except Exception as error:
                mine = error
            theirs = [v.detach() for v in tree_leaves(theirs) if isinstance(v, torch.Tensor)]
            if text := differ(theirs, mine, values=True, phases=op.name in PHASES):
                yield "onnx", f"[{n}] {text}"

    def export(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """torch.export of a module that calls the operator, and what the program gives."""

        def use(package: Any, f: Any, x: Any, args: Any, kwargs: Any) -> Any:
            one, tensors = alone(package, f, x, args, kwargs)
            module = type("Calls", (package.nn.Module,), {"forward": lambda self, *given: one(*given)})()
            return package.export.export(module, tuple(tensors)).module()(*tensors)

        return self.programs(op, target, "export", use)

    def programs(self, op: Any, target: Any, way: str, use: Callable[..., Any]) -> Iterator[tuple[str, str]]:
        """What differs where PyTorch makes a program of the call."""
        for n, sample in enumerate(self.drawn(op, self.first(op, torch.float32, torch.int64, torch.bool))):
            theirs, mine = self.both(target, use, sample)
            if isinstance(theirs, Exception):
                continue
            exact = op.name not in self.harness.UNINITIALISED
            if text := differ(theirs, mine, values=exact, phases=op.name in PHASES):
                yield way, f"[{n}] {text}"

    def deterministic(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """Under use_deterministic_algorithms(True), gradients too: which ops refuse."""

        def use(package: Any, f: Any, x: Any, args: Any, kwargs: Any) -> Any:
            package.use_deterministic_algorithms(True)
            try:
                found = f(x, *args, **kwargs)
                results = [v for v in tree_leaves(found) if isinstance(v, package.Tensor) and v.requires_grad]
                if results:
                    sum(v.abs().sum() for v in results).backward()
                return found
            finally:
                package.use_deterministic_algorithms(False)

        grad = op.supports_autograd
        for n, sample in enumerate(self.drawn(op, self.first(op, torch.float32, torch.int64), grad=grad)):
            theirs, mine = self.both(target, use, sample)
            if text := differ(
                theirs, mine, values=op.name not in self.harness.UNINITIALISED, phases=op.name in PHASES
            ):
                yield "deterministic", f"[{n}] {text}"

    def jvp(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """Forward mode in the direction of ones."""
        if not op.supports_forward_ad:
            return

        def use(package: Any, f: Any, x: Any, args: Any, kwargs: Any) -> Any:
            leaves, spec = tree_flatten((x, args, kwargs))
            at = [i for i, v in enumerate(leaves) if isinstance(v, package.Tensor) and v.requires_grad]
            for i in at:
                leaves[i] = leaves[i].detach()

            def one(*tensors: Any) -> Any:
                given = list(leaves)
                for i, t in zip(at, tensors, strict=True):
                    given[i] = t
                x, args, kwargs = tree_unflatten(given, spec)
                found = f(x, *args, **kwargs)
                return tuple(
                    v
                    for v in tree_leaves(found)
                    if isinstance(v, package.Tensor) and (v.is_floating_point() or v.is_complex())
                )

            primals = tuple(leaves[i] for i in at)
            return package.func.jvp(one, primals, tuple(package.ones_like(p) for p in primals))[1]

        for n, sample in enumerate(self.drawn(op, self.first(op, torch.float64), grad=True)):
            theirs, mine = self.both(target, use, sample)
            if isinstance(theirs, Exception):
                continue
            if text := differ(theirs, mine, values=True, phases=op.name in PHASES):
                yield "jvp", f"[{n}] {text}"

    def cuda(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """On a (simulated) CUDA device, beside PyTorch's CPU, with gradients; a second call is late.

        Needs RUSHLIGHT_CUDA=simulated in the environment.
        """

        def use(package: Any, f: Any, x: Any, args: Any, kwargs: Any, device: str = "cuda") -> Any:
            device = "cpu" if package is torch else device

            def moved(v: Any) -> Any:
                if not isinstance(v, package.Tensor):
                    return v
                return v.detach().to(device).requires_grad_(v.requires_grad)

            kwargs = {k: package.device(device) if k == "device" else v for k, v in kwargs.items()}
            for _ in range(2):
                there = tree_map(moved, (x, *args)), tree_map(moved, kwargs)
                found = f(*there[0], **there[1])
            results = [v for v in tree_leaves(found) if isinstance(v, package.Tensor)]
            if not all(v.is_cuda == (device == "cuda") for v in results):
                raise AssertionError("a result lies on the CPU")
            given = [v for v in tree_leaves(there) if isinstance(v, package.Tensor) and v.requires_grad]
            tracked = [v for v in results if v.requires_grad and v.dtype.is_floating_point]
            if given and tracked and not DRAWS.search(op.name):
                total = sum(v.sum() for v in tracked)
                results += [
                    g for g in package.autograd.grad(total, given, allow_unused=True) if g is not None
                ]
            return [v.detach().cpu() for v in results]

        grad = op.supports_autograd
        cuda.platform().device(0).error = None  # of the last operator
        for n, sample in enumerate(self.drawn(op, self.first(op, torch.float32, torch.int64), grad=grad)):
            theirs, mine = self.both(target, use, sample)
            if isinstance(theirs, Exception):
                continue
            exact = op.name not in self.harness.UNINITIALISED and not DRAWS.search(op.name)
            here = None if isinstance(mine, Exception) or not exact else self.here(target, use, sample)
            text = differ(theirs, mine, phases=op.name in PHASES) if here is None else apart(here, mine)
            if text:
                yield "cuda", f"[{n}] {text}"

    def here(self, target: Any, use: Any, sample: Any) -> Any:
        """What `use` gives on Rushlight's CPU."""
        parts = self.mine.adopt((sample.input, sample.args, sample.kwargs))
        return use(rushlight, self.call(self.mine, target), *parts, device="cpu")

    # --- the same samples, in other clothes ---------------------------------------------------------

    def plain(
        self, op: Any, target: Any, changed: Callable[[Any], Iterator[tuple[str, Any]]], values: bool = False
    ) -> Iterator[tuple[str, str]]:
        """The operator on what `changed` makes of each sample: (which change, the sample)."""
        dtype = self.first(op, torch.float32, torch.int64, torch.bool)
        exact = values and op.name not in self.harness.UNINITIALISED
        for n, sample in enumerate(self.drawn(op, dtype)):
            for which, other in changed(sample):
                try:
                    theirs, mine = self.both(target, lambda _, f, x, a, k: f(x, *a, **k), other)
                except Exception:
                    continue
                if text := differ(theirs, mine, strides=values, values=exact, phases=op.name in PHASES):
                    yield which, f"[{n}] {text}"

    def sizes(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """One dim of the input, and of tensors of its shape, of size 0; then no dims at all."""

        def changed(sample: Any) -> Iterator[tuple[str, Any]]:
            x = sample.input
            if not isinstance(x, torch.Tensor) or x.layout is not torch.strided:
                return

            def like(v: Any) -> bool:
                return isinstance(v, torch.Tensor) and v.shape == x.shape

            def emptied(v: Any, d: int) -> Any:
                return v.narrow(d, 0, 0) if like(v) else v

            def first(v: Any) -> Any:
                return v.flatten()[0] if like(v) else v

            for d in range(x.ndim):
                yield f"dim {d}", sample.transform(partial(emptied, d=d))
                yield f"input's dim {d}", with_input(sample, x.narrow(d, 0, 0))
            if x.ndim and x.numel():
                yield "no dims", sample.transform(first)
                yield "input of no dims", with_input(sample, x.flatten()[0])

        return self.plain(op, target, changed)

    def dims(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """Dims just out of range, one at a time."""

        def changed(sample: Any) -> Iterator[tuple[str, Any]]:
            x = sample.input
            if not isinstance(x, torch.Tensor):
                return
            for bad in (x.ndim, -x.ndim - 1, max(x.ndim, 1), -max(x.ndim, 1) - 1):
                for i, v in enumerate(sample.args):
                    if type(v) is int:
                        args = (*sample.args[:i], bad, *sample.args[i + 1 :])
                        yield f"args[{i}]", with_input(sample, x, args)
                for name in sample.kwargs:
                    if "dim" in name and name != "keepdim":
                        yield name, with_input(sample, x, kwargs={**sample.kwargs, name: bad})

        return self.plain(op, target, changed)

    def mistyped(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """Each argument replaced by something of another type, a keyword that is none, one argument less."""

        def changed(sample: Any) -> Iterator[tuple[str, Any]]:
            x, args, kwargs = sample.input, sample.args, sample.kwargs
            for what, stranger in STRANGERS.items():
                yield f"input={what}", with_input(sample, stranger)
                for i in range(len(args)):
                    yield f"args[{i}]={what}", with_input(sample, x, (*args[:i], stranger, *args[i + 1 :]))
                for name in kwargs:
                    yield f"{name}={what}", with_input(sample, x, kwargs={**kwargs, name: stranger})
            yield "unknown=", with_input(sample, x, kwargs={**kwargs, "unknown": 1})
            if args:
                yield "missing", with_input(sample, x, args[:-1])

        return self.plain(op, target, changed)

    def layouts(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """Inputs laid out otherwise: dims turned round, with gaps, behind others in memory, expanded."""

        def gaps(v: Any) -> Any:
            wider = v.new_zeros((*v.shape, 2)) if v.ndim else v.new_zeros(3)[1]
            return wider[..., 1].copy_(v) if v.ndim else wider.copy_(v)

        def turned(v: Any) -> Any:
            order = tuple(reversed(range(v.ndim)))
            return v.permute(order).contiguous().permute(order)

        def first(v: Any) -> Any:
            return v[:1].expand(v.shape) if v.ndim and v.numel() else v

        def last(v: Any) -> Any:
            return v[..., :1].expand(v.shape) if v.ndim and v.numel() else v

        def changed(sample: Any) -> Iterator[tuple[str, Any]]:
            for way in (turned, gaps, first, last):
                yield (
                    way.__name__,
                    sample.transform(
                        lambda v, way=way: (
                            way(v.detach())
                            if isinstance(v, torch.Tensor) and v.layout is torch.strided
                            else v
                        )
                    ),
                )

        return self.plain(op, target, changed, values=True)

    def out(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """out= of another dtype, another shape, another device, no elements; warnings are counted, too."""

        def use(package: Any, f: Any, x: Any, args: Any, kwargs: Any, how: str = "") -> Any:
            def made(t: Any) -> Any:
                if how == "meta":
                    return package.empty(tuple(t.shape), dtype=t.dtype, device="meta")
                if how == "empty":
                    return package.empty(0, dtype=t.dtype)
                if how == "shape":
                    return package.ones((*t.shape, 2), dtype=t.dtype)
                if how == "turned":
                    return package.ones(tuple(t.shape)[::-1], dtype=t.dtype).permute(
                        tuple(reversed(range(t.ndim)))
                    )
                return package.ones(tuple(t.shape), dtype=getattr(package, how))

            found = f(x, *args, **kwargs)
            if not isinstance(found, (tuple, list, package.Tensor)):
                return None
            outs = tuple(map(made, found)) if isinstance(found, (tuple, list)) else made(found)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                result = f(x, *args, **kwargs, out=outs)
            resized = sum("resized" in str(w.message) for w in said)
            same = (
                result is outs
                if isinstance(outs, package.Tensor)
                else all(a is b for a, b in zip(result, outs, strict=True))
            )
            return [package.zeros(resized), package.zeros(int(same)), result]

        if not op.supports_out:
            return
        for n, sample in enumerate(self.drawn(op, self.first(op, torch.float32, torch.int64, torch.bool))):
            for how in ("meta empty shape turned bool int64 float16 float32 float64 complex64").split():
                theirs, mine = self.both(target, partial(use, how=how), sample)
                if text := differ(
                    theirs,
                    mine,
                    strides=True,
                    values=op.name not in self.harness.UNINITIALISED,
                    phases=op.name in PHASES,
                ):
                    yield how, f"[{n}] {text}"

    def inplace(self, op: Any, target: Any) -> Iterator[tuple[str, str]]:
        """The variant in place: on meta; of an expanded input; of one of int64."""
        if op.inplace_variant is None:
            return
        name = getattr(op.inplace_variant, "__name__", "")

        def use(package: Any, f: Any, x: Any, args: Any, kwargs: Any, how: str = "") -> Any:
            def moved(v: Any) -> Any:
                return v.to("meta") if isinstance(v, package.Tensor) else v

            if how == "meta":
                x, args, kwargs = tree_map(moved, (x, args, kwargs))
            elif how == "int64":
                x = x.long()
            elif how == "expanded":
                x = x[:1].expand(x.shape) if x.ndim else x
            elif how == "first":
                x = x[..., 0] if x.ndim else x
            found = getattr(x, name)(*args, **kwargs)
            return [found, package.zeros(int(found is x))]

        for n, sample in enumerate(self.drawn(op, self.first(op, torch.float32, torch.int64, torch.bool))):
            if not isinstance(sample.input, torch.Tensor) or not hasattr(sample.input, name):
                continue
            for how in ("meta", "int64", "expanded", "first"):
                theirs, mine = self.both(target, partial(use, how=how), sample)
                if text := differ(theirs, mine, strides=True, values=how != "meta"):
                    yield how, f"[{n}] {text}"


def apart(here: Any, there: Any) -> str:
    """How results of the two devices differ in their numbers; empty where they do not, or there is none of
    one.
    """
    if here is None or len(here) != len(there):
        return "" if here is None else f"structure {len(here)} {len(there)}"
    for a, b in zip(here, there, strict=True):
        try:
            rushlight.testing.assert_close(b, a, equal_nan=True)
        except AssertionError as error:
            return "values: " + " ".join(str(error).split())[:90]
    return ""


def alone(package: Any, f: Any, x: Any, args: Any, kwargs: Any) -> tuple[Callable[..., Any], list[Any]]:
    """The call as a function of its tensors alone, and these."""
    leaves, spec = tree_flatten((x, args, kwargs))
    at = [i for i, v in enumerate(leaves) if isinstance(v, package.Tensor)]

    def one(*tensors: Any) -> Any:
        given = list(leaves)
        for i, t in zip(at, tensors, strict=True):
            given[i] = t
        x, args, kwargs = tree_unflatten(given, spec)
        return f(x, *args, **kwargs)

    return one, [leaves[i].detach() for i in at]


def spelled(package: Any, path: str, x: Any, args: Any, kwargs: Any) -> tuple[str, list[Any]]:
    """A function's text that makes the call of its tensors, and these; ValueError where it has none."""
    tensors: list[Any] = []

    def literal(value: Any) -> str:
        if isinstance(value, package.Tensor):
            tensors.append(value.detach())
            return f"t{len(tensors) - 1}"
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            inside = ", ".join(map(literal, value))
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
        if isinstance(value, (package.dtype, package.layout, package.memory_format)):
            return str(value)
        if isinstance(value, package.device):
            return f'torch.device("{value}")'
        if value is None or type(value) in (bool, int, str) or (type(value) is float and value - value == 0):
            return repr(value)
        raise ValueError(f"{type(value)} has no spelling")

    given = [literal(x), *map(literal, args)]
    given += [f"{name}={literal(value)}" for name, value in kwargs.items()]
    name = f"torch.{path}"
    if path.startswith("Tensor."):
        name = f"{given.pop(0)}.{path.removeprefix('Tensor.')}"
    head = ", ".join(f"t{i}: Tensor" for i in range(len(tensors)))
    return f"def f({head}):\n    return {name}({', '.join(given)})\n", tensors


def defined(package: Any, text: str) -> Any:
    """The function of a text, which its source can be asked of."""
    file = f"<sweep {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"torch": package, "Tensor": package.Tensor, "__name__": "sweep_text"}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def through_onnx(f: Any, x: Any, args: Any, kwargs: Any) -> list[Any]:
    """What onnxruntime gives for Rushlight's export of a call."""
    import onnxruntime

    one, tensors = alone(rushlight, f, x, args, kwargs)
    module = type("Calls", (rushlight.nn.Module,), {"forward": lambda self, *given: one(*given)})()
    file = io.BytesIO()
    rushlight.onnx.export(module, tuple(tensors), file)
    session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    named = zip(session.get_inputs(), tensors, strict=False)
    found = session.run(None, {place.name: tensor.numpy() for place, tensor in named})
    return [rushlight.from_numpy(v) for v in found]


def with_input(sample: Any, x: Any, args: Any = None, kwargs: Any = None) -> Any:
    """The sample with another input (arguments, keywords)."""
    return type(sample)(
        x, args=sample.args if args is None else args, kwargs=sample.kwargs if kwargs is None else kwargs
    )


def refusals_differ(theirs: Any, mine: Any) -> str:
    """How two results differ, one of which at least is an exception."""
    a, b = (type(v).__name__.lstrip("_") if isinstance(v, Exception) else "" for v in (theirs, mine))
    if (a, b) == ("AttributeError", "TypeError") and "object has no attribute" in str(theirs):
        return ""  # PyTorch stumbled over what has another type
    said = " ".join(str(theirs if a else mine).split())[:110]
    what = "refuses" if not a else "accepts" if not b else "another exception"
    return "" if a == b else f"{what}: {a} {b} {said}"


def differ(theirs: Any, mine: Any, strides: bool = False, values: bool = False, phases: bool = False) -> str:
    """How two results differ; an empty text where they do not."""
    if isinstance(theirs, Exception) or isinstance(mine, Exception):
        return refusals_differ(theirs, mine)
    lefts, rights = (tree_leaves(list(v) if isinstance(v, tuple) else v) for v in (theirs, mine))
    if len(lefts) != len(rights):
        return f"structure {len(lefts)} {len(rights)}"
    for a, b in zip(lefts, rights, strict=True):
        if not isinstance(a, torch.Tensor) or not isinstance(b, rushlight.Tensor):
            continue
        if str(a.dtype)[6:] != str(b.dtype).rpartition(".")[2]:
            return f"dtype {b.dtype}, not {a.dtype}"
        if tuple(a.shape) != tuple(b.shape):
            return f"shape {tuple(b.shape)}, not {tuple(a.shape)}"
        if a.layout is not torch.strided:
            continue
        steps = zip(a.stride(), b.stride(), a.shape, strict=True)
        if strides and a.numel() and any(p != q for p, q, n in steps if n > 1):
            return f"strides {b.stride()}, not {a.stride()} of {tuple(a.shape)}"
        if strides and b.device.type != a.device.type:
            return f"device {b.device}"
        if values and a.device.type == "cpu":
            wide = b.detach().resolve_conj().resolve_neg()
            same = torch.from_numpy((wide.float() if wide.is_floating_point() else wide).numpy())
            x, y = [v.abs() if phases else v for v in (a.detach(), same.to(a.dtype))]
            if not torch.allclose(x, y, 1e-3, 1e-4, equal_nan=True):
                return "values"
    return ""


def main() -> int:
    """Sweep, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("harness")
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--ops", default="")
    parser.add_argument("--samples", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    h = harness(options.harness)
    sweep, ops, wrong, stale = Sweep(h, options.samples), 0, 0, list[str]()
    for op in h.op_db:
        targets = h.function_targets(op)
        if not re.search(options.ops, op.full_name) or not targets:
            continue
        if h.resolve(rushlight, targets[0].path) is None:
            continue
        ops += 1
        found: dict[str, list[str]] = defaultdict(list)
        try:
            for which, text in getattr(sweep, options.way)(op, targets[0]):
                found[text.split("] ", 1)[1]].append(which)
        except TypeError as error:  # NumPy, by which samples are carried over, lacks a dtype
            print(f"{op.full_name}\tleft out\t{error}", flush=True)
        if op.full_name in EXCEPTIONS.get(options.way, {}):
            stale += [op.full_name] * (not found)
            continue
        wrong += bool(found)
        for text, kinds in found.items():
            print(f"{op.full_name}\t{' '.join(dict.fromkeys(kinds))}\t{text}", flush=True)
    print(f"{ops} operators, {wrong} differ; exceptions that no longer do: {', '.join(stale) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
