"""PyTorch's database of modules beside PyTorch: every sample in many ways on both sides, and what differs.

    python tools/modules.py [--ways build,forward] [--only REGEX] [--samples N] [--dtypes float32,float64]

`torch.testing._internal.common_modules.module_db`, which PyTorch's wheel ships, has inputs of the
constructor and of forward for the modules of torch.nn, and inputs that are refused. Each way below uses a
sample as programs do: it is written once, for a package, and runs on both. What differs is printed, a line
for each kind of difference, then how many samples ran and differed, a line for each way. Needs
torch==2.13.0 and expecttest.
"""

from __future__ import annotations

import argparse
import copy
import inspect
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

sys.path.insert(0, str(Path(__file__).parent))
from beside import Raised, Report, both, opened, run, saved

Way = Callable[["Trial"], Any]
WAYS: dict[str, Way] = {}


def way(f: Way) -> Way:
    """Adds a way to use a sample to the table."""
    WAYS[f.__name__.strip("_")] = f
    return f


class Trial:
    """A sample on one side."""

    def __init__(self, package: ModuleType, name: str, file: bytes, of: torch.dtype, training: bool) -> None:
        self.torch, self.file, self.training = package, file, training
        self.of = getattr(package, str(of)[6:])
        self.kind = getattr(package.nn, name.rpartition(".")[2])

    def module(self, seed: int = 1, **more: Any) -> Any:
        """The module, from a seed."""
        args, kwargs = opened(self.torch, self.file)[0]
        self.torch.manual_seed(seed)
        return self.kind(*args, **kwargs | more).train(self.training).to(self.of)

    def inputs(self, change: Callable[[Any], Any] = lambda x: x) -> tuple[Any, Any]:
        """(args, kwargs) of forward, fresh, with each tensor changed."""
        args, kwargs = self.each(opened(self.torch, self.file)[1], change)
        return args, kwargs

    def each(self, given: Any, change: Callable[[Any], Any]) -> Any:
        """Nested values with each tensor changed; the same tensor twice stays the same."""
        memo: dict[int, Any] = {}

        def one(x: Any) -> Any:
            if isinstance(x, self.torch.Tensor) and id(x) not in memo:
                memo[id(x)] = change(x)
            return memo.get(id(x), x)

        return tree_map(one, given)

    def call(self, module: Any, given: tuple[Any, Any]) -> Any:
        """Forward, from a seed."""
        self.torch.manual_seed(2)
        return module(*given[0], **given[1])

    def grads(self, module: Any, given: Any, found: Any, **more: Any) -> list[Any]:
        """Gradients of inputs and parameters, by gradients of the results that are not all the same."""
        of = self.tracked(given) + [q for q in module.parameters() if q.requires_grad]
        outs = self.tracked(found)

        def step(o: Any) -> Any:
            return ((self.torch.arange(o.numel(), device=o.device) % 7 - 3) / 4).to(o.dtype).reshape(o.shape)

        return (
            list(self.torch.autograd.grad(outs, of, [*map(step, outs)], allow_unused=True, **more))
            if outs and of
            else []
        )

    def tracked(self, given: Any) -> list[Any]:
        """Tensors that require grad."""
        return [x for x in tree_leaves(given) if isinstance(x, self.torch.Tensor) and x.requires_grad]

    def whole(self, module: Any, given: Any) -> Any:
        """Result and gradients."""
        found = self.call(module, given)
        return {"result": found, "grads": self.grads(module, given, found)}


@way
def build(t: Trial) -> Any:
    m = t.module()
    return {
        "repr": repr(m),
        "state": m.state_dict(),
        "parameters": dict(m.named_parameters()),
        "order": list(m.state_dict()),
        "modules": [n for n, _ in m.named_modules()],
        "options": {
            k: v
            for k, v in vars(m).items()
            if k[0] != "_" and isinstance(v, (int, float, str, bool, tuple, list))
        },
    }


@way
def forward(t: Trial) -> Any:
    m, given = t.module(), t.inputs()
    return {"result": t.call(m, given), "again": t.call(m, given), "inputs": given, "state": m.state_dict()}


@way
def backward(t: Trial) -> Any:
    return t.whole(t.module(), t.inputs())


@way
def second(t: Trial) -> Any:
    m, given = t.module(), t.inputs()
    first = t.grads(m, given, t.call(m, given), create_graph=True)
    again = t.grads(m, given, first, materialize_grads=True)
    return [x.contiguous() for x in again]  # which layout these have is no promise


@way
def strided(t: Trial) -> Any:
    def apart(x: Any) -> Any:
        wide = x.detach().unsqueeze(-1).repeat_interleave(2, -1)[..., 0]
        return wide.requires_grad_(x.requires_grad)

    return t.whole(t.module(), t.inputs(apart))


@way
def channels_last(t: Trial) -> Any:
    most = max((x.ndim for x in tree_leaves(t.inputs()) if isinstance(x, t.torch.Tensor)), default=0)
    if most not in (4, 5):
        return None
    form = t.torch.channels_last if most == 4 else t.torch.channels_last_3d

    def turned(x: Any) -> Any:
        same = x.detach().contiguous(memory_format=form) if x.ndim == most else x.detach()
        return same.requires_grad_(x.requires_grad)

    m = t.module()
    t.call(m, t.inputs())  # lazy modules begin
    m.to(memory_format=form)
    return {"state": m.state_dict(), "turned": t.whole(m, t.inputs(turned)), "plain": t.whole(m, t.inputs())}


@way
def meta(t: Trial) -> Any:
    def moved(x: Any) -> Any:
        return x.detach().to("meta").requires_grad_(x.requires_grad)

    m = t.module()
    t.call(m, t.inputs())  # lazy modules begin
    return t.whole(m.to("meta"), t.inputs(moved))


@way
def built_on_meta(t: Trial) -> Any:
    with t.torch.device("meta"):
        m = t.module()
    state = m.state_dict()
    m.to_empty(device="cpu").load_state_dict(t.module().state_dict())
    return {"state": state, "result": t.call(m, t.inputs())}


@way
def copies(t: Trial) -> Any:
    m, given = t.module(), t.inputs()
    t.call(m, given)
    again = {"pickle": pickle.loads(pickle.dumps(m)), "deepcopy": copy.deepcopy(m), "copy": copy.copy(m)}
    if t.torch.nn.parameter.UninitializedParameter not in map(type, t.module().parameters()):
        again["state"] = t.module(seed=5)
        keys = again["state"].load_state_dict(m.state_dict())
        again["assigned"] = t.module(seed=6)
        again["assigned"].load_state_dict(m.state_dict(), assign=True)
        return {"keys": str(keys), **{k: t.call(v, given) for k, v in again.items()}}
    return {k: t.call(v, given) for k, v in again.items()}


@way
def functional(t: Trial) -> Any:
    m, given = t.module(), t.inputs()
    state = {k: (v * 0.5 if v.is_floating_point() else v) for k, v in m.state_dict().items()}
    return {"result": t.torch.func.functional_call(m, state, *given), "state": m.state_dict()}


def over_tensors(t: Trial, m: Any, given: Any) -> tuple[Any, list[Any]]:
    """A function of the tensors of floats among the inputs, and these tensors."""
    t.call(m, given)  # lazy modules begin here: PyTorch's crash in a transform
    leaves, spec = tree_flatten(given)
    at = [n for n, x in enumerate(leaves) if isinstance(x, t.torch.Tensor) and x.is_floating_point()]

    def one(*tensors: Any) -> Any:
        mixed = [tensors[at.index(n)] if n in at else x for n, x in enumerate(leaves)]
        args, kwargs = tree_unflatten(mixed, spec)
        return m(*args, **kwargs)

    return one, [leaves[n].detach() for n in at]


@way
def vmap(t: Trial) -> Any:
    one, tensors = over_tensors(t, t.module().eval(), t.inputs())
    return t.torch.func.vmap(one, randomness="same")(*[t.torch.stack([x, x * 0.5]) for x in tensors])


@way
def jvp(t: Trial) -> Any:
    one, tensors = over_tensors(t, t.module().eval(), t.inputs())
    return t.torch.func.jvp(one, tuple(tensors), tuple(map(t.torch.ones_like, tensors)))


@way
def empty(t: Trial) -> Any:
    first = next((x for x in tree_leaves(t.inputs()) if isinstance(x, t.torch.Tensor)), None)

    def none(x: Any) -> Any:
        same = first is not None and x.ndim and x.shape[0] == first.shape[0]
        return (x[:0] if same else x).detach().requires_grad_(x.requires_grad)

    return t.whole(t.module(), t.inputs(none))


@way
def in_place(t: Trial) -> Any:
    if "inplace" not in inspect.signature(t.kind).parameters:
        return None
    m, given = t.module(inplace=True), t.inputs()
    args, kwargs = t.each(given, lambda x: x * 1)
    found = t.call(m, (args, kwargs))
    return {
        "repr": repr(m),
        "same": found is (*args, *kwargs.values())[0],
        "inputs": [args, kwargs],
        "grads": t.grads(m, given, found),
    }


def trying(t: Trial, change: Callable[[Any], Any], convert: Callable[[Any], Any] = lambda m: m) -> Any:
    """Result and gradients with changed inputs, or what is raised."""

    def changed(x: Any) -> Any:
        return change(x.detach()).requires_grad_(x.requires_grad)

    return run(t.torch, lambda package: t.whole(convert(t.module()), t.inputs(changed)))[0]


@way
def other_dtypes(t: Trial) -> Any:
    return {
        name: trying(t, lambda x: x.to(getattr(t.torch, name)) if x.is_floating_point() else x)
        for name in ("bool", "uint8", "int64", "float16", "bfloat16", "float64", "complex64")
    }


@way
def cast(t: Trial) -> Any:
    def to(dtype: Any) -> Any:
        return trying(t, lambda x: x.to(dtype) if x.is_floating_point() else x, lambda m: m.to(dtype))

    return {name: to(getattr(t.torch, name)) for name in ("float16", "bfloat16", "complex64")}


@way
def other_shapes(t: Trial) -> Any:
    return {
        "fewer dims": trying(t, lambda x: x[0]),
        "more dims": trying(t, lambda x: x[None]),
        "many dims": trying(t, lambda x: x[None, None, None]),
        "narrow": trying(t, lambda x: x[..., :-1]),
        "nothing": trying(t, lambda x: x[..., :0]),
        "scalar": trying(t, lambda x: x.flatten()[0]),
        "one": trying(t, lambda x: x.flatten()[:1]),
    }


@way
def autocast(t: Trial) -> Any:
    m, given = t.module(), t.inputs()
    with t.torch.autocast("cpu", dtype=t.torch.bfloat16):
        found = t.call(m, given)
    low = t.torch.bfloat16  # in which most was computed, whatever the dtype is in the end
    return {"result": found, "grads": t.each([t.grads(m, given, found)], lambda x: x.to(low))}


@way
def hooks(t: Trial) -> Any:
    m, given, seen = t.module(), t.inputs(), []
    m.register_forward_pre_hook(lambda _, a, k: seen.append(["before", a, k]), with_kwargs=True)
    m.register_forward_hook(lambda _, a, found: seen.append(["after", a, found]))
    m.register_full_backward_pre_hook(lambda _, g: seen.append(["back", g]))
    m.register_full_backward_hook(lambda _, g, h: seen.append(["backed", g, h]))
    whole = t.whole(m, given)
    return {"seen": t.each(seen, lambda x: x.detach()), **whole}


@way
def inference(t: Trial) -> Any:
    m = t.module()
    with t.torch.inference_mode():
        found = t.call(m, t.inputs())
    with t.torch.no_grad():
        return {
            "inference": [x.is_inference() for x in tree_leaves(found) if isinstance(x, t.torch.Tensor)],
            "result": found,
            "no_grad": t.call(m, t.inputs()),
        }


@way
def compiled(t: Trial) -> Any:
    m, given = t.module(), t.inputs()
    return t.whole(m if t.torch is torch else t.torch.compile(m), given)


@way
def scripted(t: Trial) -> Any:
    m = t.module()
    t.call(m, t.inputs())
    return t.call(t.torch.jit.script(m), t.inputs())


# Where PyTorch refuses what it has not got, Rushlight may have it.
MAY_HAVE_MORE = {"vmap", "jvp", "scripted", "second", "meta"}


def packed(sample: Any) -> bytes:
    """A sample's file: ((args, kwargs) of the constructor, (args, kwargs) of forward)."""
    built, given = sample.constructor_input, sample.forward_input
    return saved(((built.args, built.kwargs), (given.args, given.kwargs) if given else ((), {})))


def compared(program: Callable[[Any], Any], lenient: bool = False) -> list[tuple[str, str]]:
    """How the sides' results of a program differ."""
    if lenient and isinstance(run(torch, program)[0], Raised):
        return []
    return list(both(program))


def refused(info: Any, of: torch.dtype, training: bool) -> Iterator[list[tuple[str, str]]]:
    """Differences for each of the database's inputs that are refused, in construction or in forward."""
    where = {"device": "cpu", "dtype": of, "requires_grad": False, "training": training}
    for sample in info.module_error_inputs_func(info, **where):
        file, late = packed(sample.module_error_input), sample.error_on == ModuleErrorEnum.FORWARD_ERROR

        def program(package: ModuleType) -> Any:
            trial = Trial(package, info.name, file, of, training)
            return trial.call(trial.module(), trial.inputs()) if late else trial.module()

        yield compared(program)


def accepted(
    info: Any, of: torch.dtype, training: bool, which: str, most: int
) -> Iterator[list[tuple[str, str]]]:
    """Differences for each of the database's samples, evenly chosen, used in one way."""
    samples = info.module_inputs_func(info, device="cpu", dtype=of, requires_grad=True, training=training)
    for sample in samples[:: max(1, -(-len(samples) // most))]:
        file = packed(sample)

        def program(package: ModuleType) -> Any:
            return WAYS[which](Trial(package, info.name, file, of, training))

        yield compared(program, which in MAY_HAVE_MORE)


def sweep(ways: list[str], only: str, most: int, dtypes: list[str]) -> Report:
    """Every module, dtype and mode in these ways."""
    report = Report()
    for info in module_db:
        for of in sorted(info.dtypes, key=str):
            if not re.search(only, info.name) or str(of)[6:] not in dtypes:
                continue
            for training in (True, False) if info.train_and_eval_differ else (True,):
                for which in ways:
                    torch.manual_seed(0)
                    if which == "errors" and not info.module_error_inputs_func:
                        continue
                    each = (
                        refused(info, of, training)
                        if which == "errors"
                        else accepted(info, of, training, which, most)
                    )
                    for n, differences in enumerate(each):
                        sample = f"{str(of)[6:]} {'train' if training else 'eval'} {n}"
                        report.add(which, info.name, sample, differences)
    return report


def main() -> int:
    """Sweep, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ways", default=",".join([*WAYS, "errors"]))
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--dtypes", default="float32,float64,complex64,complex128,float16,bfloat16")
    options = parser.parse_args()
    torch.set_num_threads(1)
    return sweep(options.ways.split(","), options.only, options.samples, options.dtypes.split(",")).printed()


if __name__ == "__main__":
    sys.exit(main())
