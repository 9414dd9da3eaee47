"""What a kind of call came to, as a generated function: allocations, launches and results, written out.

The function is for arrays of known geometries (`Form`). Where the device is not as it was (a graph is
captured, a kernel has failed, another device's context is this thread's) it goes by `slow`, the way that
was learnt from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rushlight._engine.devices.cuda import words
from rushlight._engine.devices.cuda.allocator import rounded
from rushlight._engine.devices.cuda.array import BYTE, DeviceArray, Form, row_strides
from rushlight._engine.devices.cuda.kernels import launches
from rushlight._engine.devices.cuda.kernels.writing import ACCESS
from rushlight._engine.dispatch.generated_code import compile_function
from rushlight._engine.names.absent_devices import OutOfMemoryError

# (number of the memory: operands, then rooms, or -1 for a fixed address; bytes from its beginning).
Place = tuple[int, int]


class Step(NamedTuple):
    """A launch (a kernel's Function, its grid), or, without a grid, a function of addresses."""

    function: Any
    grid: tuple[int, int] | None
    places: Sequence[Place]
    numbers: Sequence[int]


class Made(NamedTuple):
    """A result: an operand itself (`same`), or an array in a memory."""

    place: Place
    form: Form
    view: bool = False
    same: int = -1


class _Text:
    """The lines of a function and the constants that they name."""

    def __init__(self, device: Any, operands: Sequence[bool]) -> None:
        self.lines: list[str] = []
        self.names: list[str] = []
        self.constants: list[Any] = []
        self.arrays = [f"a{k}" for k, is_array in enumerate(operands) if is_array]
        self.given = [f"a{k}" if is_array else f"n{k}" for k, is_array in enumerate(operands)]
        self.device = device

    def constant(self, value: Any) -> str:
        """The name of a value."""
        self.names.append(f"k{len(self.names)}")
        self.constants.append(value)
        return self.names[-1]

    def address(self, place: Place) -> str:
        """Code for an address."""
        k, offset = place
        if k < 0:
            return self.constant(offset)
        known = f"{self.arrays[k]}.address" if k < len(self.arrays) else f"p{k - len(self.arrays)}"
        return f"{known} + {self.constant(offset)}" if offset else known

    def step(self, step: Step) -> None:
        """A launch, or a product."""
        addresses = [self.address(p) for p in step.places]
        if step.grid is None:
            self.lines.append(f"{self.constant(step.function)}([{', '.join(addresses)}])")
            return
        bits = [f"from_bytes({n}.tobytes(), 'little')" for n in self.given if n.startswith("n")]
        given = ", ".join([*addresses, *[self.constant(n) for n in step.numbers], *bits])
        function, (blocks, threads) = step.function, step.grid
        if function.native is None:
            self.lines.append(
                f"{self.constant(function.launch)}({self.constant(step.grid)}, stream.handle, [{given}])"
            )
            return
        head = [self.constant(value) for value in (function.native, function.handle, blocks, threads)]
        self.lines += [f"code = {head[0]}({', '.join(head[1:])}, stream.handle, {given})"]
        told = f"{self.constant(function.told)}({self.constant(step.grid)}, stream.handle, [{given}])"
        self.lines += ["if code:", f"    refuse(code, 'cuLaunchKernel', {told})"]

    def made(self, number: int, r: Made | None) -> str:
        """Code for a result."""
        if r is None:
            return "None"
        if r.same >= 0:
            return self.arrays[r.same]
        (k, _), name, handle, base = r.place, f"r{number}", "None", "None"
        if 0 <= k < len(self.arrays):
            of = self.arrays[k]
            handle, base = f"{of}.handle", f"{of} if {of}.base is None else {of}.base"
        elif k >= 0:
            handle = f"h{k - len(self.arrays)}"
            base = f"whole({handle})" if r.view else "None"
        facts = {
            "device": "device",
            "handle": handle,
            "address": self.address(r.place) if k >= 0 else "0",
            "form": self.constant(r.form),
            "shape": self.constant(r.form.shape),
            "strides": self.constant(r.form.strides),
            "dtype": self.constant(r.form.dtype),
            "size": self.constant(r.form.size),
            "base": base,
        }
        self.lines += [f"{name} = new(DeviceArray)", *[f"{name}.{n} = {code}" for n, code in facts.items()]]
        return name


_FRAME = """
def make(device, slow, scope, constants):
    current, entered, failed, driver, platform, default, allocate, refuse, refused, whole = scope
    {names}= constants
    def run({given}):
        if (failed.value or device.error is not None or device.captures or driver.dead is not None
                or platform.forked or current.recording is not None or current.pool is not None
                or entered.device is not device):
            return slow({given})
        stream = current.stream or default
        {body}
    return run
"""


def function(
    device: Any,
    operands: Sequence[bool],
    rooms: Sequence[int],
    steps: Sequence[Step],
    results: Sequence[Made | None],
    form: Any,
    slow: Callable[..., Any],
) -> Callable[..., Any]:
    """The function of such calls.

    operands: for each whether it is an array; others are NumPy's numbers, whose bits follow a launch's
    numbers. rooms: bytes of the memory that is taken.  form: the class of what is given: DeviceArray for
    the one result, list, tuple, or NoneType.
    """
    text = _Text(device, operands)
    count = len(text.arrays)
    given = {r.place[0] - count for r in results if r is not None}
    scratch = [k for k in range(len(rooms)) if k not in given]  # which are one piece of memory
    at = 0
    for k in scratch:
        text.lines.append(f"p{k} = s.address + {text.constant(at)}")
        at += rounded(rooms[k])
    if scratch:
        text.lines.insert(0, f"s = allocate({text.constant(at)}, stream, refused)")
    for k in sorted(given.intersection(range(len(rooms)))):
        name = text.constant(rooms[k])
        text.lines += [f"h{k} = allocate({name}, stream, refused)", f"p{k} = h{k}.address"]
    for step in steps:
        text.step(step)
    made = [text.made(number, r) for number, r in enumerate(results)]
    if form is DeviceArray or form is type(None):
        text.lines.append(f"return {made[0]}")
    elif form in (list, tuple):
        parts = ", ".join([*made, ""])
        text.lines.append(f"return [{parts}]" if form is list else f"return ({parts})")
    else:
        text.lines.append(f"return make_tuple({text.constant(form)}, ({', '.join([*made, ''])}))")
    whole = _FRAME.format(
        names="".join([f"{n}, " for n in text.names]) or "[] ",
        given=", ".join(text.given),
        body="\n        ".join(text.lines),
    )
    function: Callable[..., Any] = _maker(whole)(device, slow, _scope(device), text.constants)
    return function


@cache
def _maker(text: str) -> Callable[..., Any]:
    names = {"new": object.__new__, "DeviceArray": DeviceArray, "from_bytes": int.from_bytes}
    return compile_function(text, "make", {**names, "make_tuple": tuple.__new__}, "a prepared call")


def _scope(device: Any) -> tuple[Any, ...]:
    def refused(want: int) -> Exception:
        return OutOfMemoryError(words.out_of_memory(device, want))

    def whole(handle: Any) -> DeviceArray:
        return DeviceArray(device, handle, handle.address, (handle.size,), (1,), BYTE)

    driver = device.driver
    return (
        device.current,
        device.entered,
        device.failures,
        driver,
        device.platform,
        device.default,
        device.allocator.allocate,
        driver.refuse,
        refused,
        whole,
    )


# --- pointwise kernels ----------------------------------------------------------------------------

_LAUNCHER = """
def make(plans, slow, learn):
    def launch({given}, out=None):
        try:
            if out is None:
                run = plans.get(({forms},))
                apart = {addresses}
            else:
                run = plans.get(({forms}, out.form))
                apart = {addresses} | out.address
        except AttributeError:
            return slow({given}, out=out)
        if run is None or apart & {access}:
            return learn(apart, ({forms},), out, {given})
        return run({given}) if out is None else run({given}, out)
    return launch
"""


def launcher(device: Any, launch: Any) -> Any:
    """A pointwise kernel's function, which knows the geometries that it has served."""
    if not any(launch.there):
        return launch
    plans: dict[Any, Callable[..., Any]] = {}
    arrays = [f"a{k}" for k, there in enumerate(launch.there) if there]
    text = _LAUNCHER.format(
        given=", ".join([f"a{k}" if there else f"n{k}" for k, there in enumerate(launch.there)]),
        forms=", ".join([f"{a}.form" for a in arrays]),
        addresses=" | ".join([f"{a}.address" for a in arrays]),
        access=ACCESS - 1,
    )

    def learn(apart: int, key: Any, out: Any, *given: Any) -> Any:
        plan = None if apart & (ACCESS - 1) else launches.known(device, launch.kernel, given, out)
        if plan is not None:
            if len(plans) > _MOST:
                plans.clear()
            plans[key if out is None else (*key, out.form)] = _pointwise(device, launch, plan, out)
        return launch(*given, out=out)

    return _maker(text)(plans, launch, learn)


# How many geometries of operands a kernel is known to serve.
_MOST = 1 << 12


def _pointwise(device: Any, launch: Any, plan: Any, out: Any) -> Callable[..., Any]:
    """What a pointwise kernel does for operands that a plan is for; out: an array as it writes to."""

    def slow(*given: Any) -> Any:
        return launch(*given) if out is None else launch(*given[:-1], out=given[-1])

    step = np.dtype(launch.result.np).itemsize
    strides = row_strides(plan.shape, step) if plan.strides is None else plan.strides
    form = DeviceArray(device, None, 0, plan.shape, strides, np.dtype(launch.result.np)).form
    size = 0 if not form.size else step + sum([(n - 1) * s for n, s in zip(form.shape, strides, strict=True)])
    count = sum(launch.there)
    kernel = device.modules.loaded.get(plan.source)
    if not size or kernel is None:
        return slow
    steps = [Step(kernel, plan.grid, [(k, 0) for k in range(count + 1)], plan.numbers)]
    if out is None:
        return function(device, launch.there, [size], steps, [Made((count, 0), form)], DeviceArray, slow)
    given = Made((count, 0), form, same=count)
    return function(device, [*launch.there, True], [], steps, [given], DeviceArray, slow)
