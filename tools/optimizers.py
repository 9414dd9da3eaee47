"""PyTorch's database of optimizers beside PyTorch: every configuration in many ways on both sides.

    python tools/optimizers.py [--ways steps,schedulers] [--only REGEX] [--dtypes float32,complex64]

`torch.testing._internal.common_optimizers.optim_db`, which PyTorch's wheel ships, has options of the
optimizers of torch.optim, with each way to run them (foreach, fused, differentiable), options that are
refused, and schedulers. Parameters and gradients are drawn once and given to both sides. What differs is
printed, a line for each kind of difference, then how many samples ran and differed, a line for each way.
Needs torch==2.13.0 and expecttest.
"""

from __future__ import annotations

import argparse
import copy
import inspect
import io
import pickle
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.testing._internal.common_optimizers import (
    OptimizerErrorEnum,
    _get_optim_inputs_including_global_cliquey_kwargs,
    optim_db,
)

import rushlight

sys.path.insert(0, str(Path(__file__).parent))
from beside import Raised, Report, both, differ, opened, run, saved

Way = Callable[["Trial"], Any]
WAYS: dict[str, Way] = {}
STEPS = 6


def way(f: Way) -> Way:
    """Adds a way to use an optimizer to the table."""
    WAYS[f.__name__] = f
    return f


class Trial:
    """An optimizer with options, parameters and gradients, on one side."""

    def __init__(self, package: ModuleType, info: Any, file: bytes) -> None:
        self.torch, self.info, self.file = package, info, file
        self.kind = getattr(package.optim, info.name)
        self.options, self.params, self.gradients = opened(package, file)
        if self.options.get("differentiable"):
            self.params = [p.clone() for p in self.params]

    def made(self, params: Any = None, **more: Any) -> Any:
        """The optimizer."""
        few = {"max_iter": 3} if self.takes("max_iter") else {}  # at the minimum, roundings decide
        return self.kind(self.params if params is None else params, **{**self.options, **few, **more})

    def takes(self, name: str) -> bool:
        """Whether the optimizer has an option of this name."""
        return name in inspect.signature(self.kind).parameters

    def step(self, o: Any, n: int, give: Callable[[Any, int], Any] = lambda g, i: g) -> Any:
        """One step; the gradient of the n-th step, each changed by `give`."""
        for i, (p, g) in enumerate(zip(self.params, self.gradients[n], strict=True)):
            found = give(g, i)
            p.grad = found if found is None else found.detach().clone()

        def closure() -> Any:
            with self.torch.enable_grad():
                loss = sum(
                    ((p - n) * (p - n).conj()).real.square().sum() * i for i, p in enumerate(self.params, 1)
                )
            if self.info.step_requires_closure:
                o.zero_grad()
                loss.backward()
            return loss.detach()

        return o.step(closure) if self.info.step_requires_closure or n % 2 else o.step()

    def steps(self, o: Any, at: range = range(STEPS), **more: Any) -> Any:
        """Parameters after each step, and the state in the end."""
        seen = []
        for n in at:
            loss = self.step(o, n, **more)
            seen.append([loss, [p.detach().clone() for p in self.params]])
        return {"seen": seen, "state": o.state_dict()}


@way
def steps(t: Trial) -> Any:
    o = t.made()
    return {"repr": repr(o), "defaults": o.defaults, "before": o.state_dict(), **t.steps(o)}


@way
def missing(t: Trial) -> Any:
    """Gradients of None, of zeros, and parameters that have none from the beginning."""
    t.params.append(t.torch.zeros(3, 3, requires_grad=True))
    t.params.insert(0, t.torch.ones(0, 3, requires_grad=True))
    for each in t.gradients:
        each.append(None), each.insert(0, t.torch.zeros(0, 3))
    o = t.made()
    return {
        **t.steps(o, give=lambda g, i: None if i == 2 else g),
        "zeros": t.steps(o, give=lambda g, i: g if g is None else t.torch.zeros_like(g)),
    }


@way
def strided(t: Trial) -> Any:
    t.params = [p.detach().t().clone().t().requires_grad_() if p.ndim == 2 else p for p in t.params]
    return t.steps(t.made(), give=lambda g, i: g.unsqueeze(-1).expand(*g.shape, 2)[..., 0])


@way
def sparse(t: Trial) -> Any:
    t.params, t.gradients = t.params[:1], [each[:1] for each in t.gradients]
    return t.steps(t.made(), give=lambda g, i: g.to_sparse())


@way
def tensor_rate(t: Trial) -> Any:
    rate = t.torch.tensor(0.01)
    found = t.steps(t.made(lr=rate))
    return {"rate": rate, **found}


@way
def capturable(t: Trial) -> Any:
    return t.steps(t.made(capturable=True))


@way
def groups(t: Trial) -> Any:
    first, second, *rest = [(f"p{i}", p) for i, p in enumerate(t.params)]
    rate = 0.02
    o = t.made([{"params": [first], "lr": rate}, {"params": iter([second]), "weight_decay": 0.1}])
    found = t.steps(o, range(2))
    o.add_param_group({"params": rest, "lr": 2 * rate})
    return {
        "two": found,
        "three": t.steps(o, range(2, 4)),
        "repr": repr(o),
        "names": [g.get("param_names") for g in o.param_groups],
    }


@way
def resumed(t: Trial) -> Any:
    """State that goes into another optimizer, as it is, from a file, or as older versions wrote it."""
    first = t.made()
    t.steps(first, range(3))
    file = io.BytesIO()
    t.torch.save(first.state_dict(), file)
    older = copy.deepcopy(first.state_dict())
    for group in older["param_groups"]:
        for name in t.info.not_og_supported_flags:
            group.pop(name, None)
    for state in older["state"].values():
        if "step" in state:
            state["step"] = float(state["step"])
    values = [p.detach().clone() for p in t.params]
    found = {}
    states = {"plain": first.state_dict(), "file": opened(t.torch, file.getvalue()), "older": older}
    for name, state in states.items():
        t.params = [v.clone().requires_grad_() for v in values]
        o = t.kind(t.params, lr=0.5)
        o.load_state_dict(state)
        found[name] = t.steps(o, range(3, STEPS))
    return found


@way
def copies(t: Trial) -> Any:
    o = t.made()
    t.steps(o, range(2))
    found = {}
    for name, made in (("deepcopy", copy.deepcopy(o)), ("pickle", pickle.loads(pickle.dumps(o)))):
        t.params = [p for g in made.param_groups for p in g["params"]]
        found[name] = t.steps(made, range(2, 4))
    return found


@way
def hooks(t: Trial) -> Any:
    o = t.made()
    seen: list[Any] = []
    o.register_step_pre_hook(lambda o, a, k: seen.append(["pre", type(o).__name__, a[1:], k]))
    o.register_step_post_hook(lambda o, a, k: seen.append(["post", type(o).__name__, a[1:], k]))
    o.register_state_dict_pre_hook(lambda o: seen.append("state"))
    o.register_state_dict_post_hook(lambda o, d: {**d, "more": 1})
    o.register_load_state_dict_pre_hook(lambda o, d: {k: v for k, v in d.items() if k != "more"})
    o.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    found = t.steps(o, range(0, 4, 2))
    o.load_state_dict(o.state_dict())
    return {"seen": [str(x).partition("function")[0] for x in seen], **found}


@way
def zeroed(t: Trial) -> Any:
    o = t.made()
    t.steps(o, range(2))
    o.zero_grad(set_to_none=False)
    kept = [p.grad for p in t.params]
    o.zero_grad()
    return [kept, [p.grad for p in t.params]]


@way
def learned(t: Trial) -> Any:
    """Gradients through differentiable steps."""
    if not t.takes("differentiable"):
        return None
    start, t.params = t.params, [p.clone() for p in t.params]
    o = t.made(differentiable=True, **{n: False for n in ("foreach", "fused") if t.takes(n)})
    for n in range(2):
        for p, g in zip(t.params, t.gradients[n], strict=True):
            p.grad = g.requires_grad_()
        o.step()
    loss = sum((p * p.conj()).real.sum() for p in t.params)
    return t.torch.autograd.grad(loss, [*start, *t.gradients[0]], allow_unused=True)


@way
def bad_options(t: Trial) -> Any:
    bad: dict[str, list[Any]] = {
        "lr": [-1.0, "x", t.torch.ones(2)],
        "betas": [(1.0, 0.9), (0.9, -1), 0.9, (0.9,)],
    }
    found = {}
    for name in inspect.signature(t.kind).parameters:
        for value in bad.get(name, [-1, -1.0, True, "x", None]) if name != "params" else []:
            found[f"{name}={value}"] = run(t.torch, lambda _: repr(t.made(**{name: value})))[0]
    return found


@way
def bad_states(t: Trial) -> Any:
    o = t.made()
    t.steps(o, range(2))
    state = o.state_dict()
    group = state["param_groups"][0]
    bad: dict[str, Any] = {
        "none": None,
        "empty": {**state, "state": {}},
        "no key": {"state": {}},
        **{
            name: {**state, "param_groups": groups}
            for name, groups in (
                ("no groups", []),
                ("another", [group, group]),
                ("fewer", [{**group, "params": [0]}]),
            )
        },
    }
    return {
        name: run(t.torch, lambda _: [o.load_state_dict(given), o.state_dict()])[0]
        for name, given in bad.items()
    }


def scheduled(t: Trial, makers: list[Any]) -> Any:
    """Rates and parameters with some of the database's schedulers."""

    def rebound(f: Any) -> Any:
        names = t.torch.optim.lr_scheduler
        return types.FunctionType(f.__code__, {n: getattr(names, n, None) for n in f.__code__.co_names})

    o = t.made()
    each = [rebound(f)(o) for f in makers]
    seen = []
    for n in range(2 * STEPS):
        t.step(o, n % STEPS)
        for s in each:
            s.step(*[1.0 + n // 3] * ("ReduceLROnPlateau" in type(s).__name__))
        seen.append([[g["lr"] for g in o.param_groups], [s.get_last_lr() for s in each]])
    states = [s.state_dict() for s in each]
    again = [rebound(f)(o) for f in makers]
    for s, state in zip(again, states, strict=True):
        s.load_state_dict(state)
    return {
        "seen": seen,
        "states": states,
        "again": [s.state_dict() for s in again],
        "copies": [copy.deepcopy(s).state_dict() for s in each],
        "params": t.params,
    }


# Where PyTorch refuses what it has not got, or gets wrong (a copied LBFGS cannot step), Rushlight may go on.
MAY_HAVE_MORE = {"learned", "copies"}


def crossed(info: Any, file: bytes) -> Iterator[tuple[str, str]]:
    """PyTorch's state goes into Rushlight's optimizer, and the other way round; both go on alike."""

    def begun(package: ModuleType) -> bytes:
        t, at = Trial(package, info, file), io.BytesIO()
        o = t.made()
        t.steps(o, range(3))
        package.save([o.state_dict(), [p.detach() for p in t.params]], at)
        return at.getvalue()

    def ended(package: ModuleType, state: bytes) -> Any:
        t = Trial(package, info, file)
        given, values = opened(package, state)
        t.params = [v.requires_grad_() for v in values]
        o = t.made()
        o.load_state_dict(given)
        return t.steps(o, range(3, STEPS))

    theirs, mine = run(torch, begun)[0], run(rushlight, begun)[0]
    if isinstance(theirs, Raised) or isinstance(mine, Raised):
        yield from differ(theirs, mine)
    else:
        yield from differ(run(torch, ended, mine)[0], run(rushlight, ended, theirs)[0])


def refused(info: Any, of: torch.dtype) -> Iterator[Callable[[ModuleType], Any]]:
    """Programs with the database's inputs that are refused."""
    for sample in info.optim_error_inputs_func(device="cpu", dtype=of):
        given = sample.optimizer_error_input
        file = saved((given.params, given.kwargs))

        def program(
            package: ModuleType,
            file: bytes = file,
            late: bool = sample.error_on == OptimizerErrorEnum.STEP_ERROR,
        ) -> Any:
            params, kwargs = opened(package, file)
            params = [package.zeros(2, 2)] if params is None else params
            o = getattr(package.optim, info.name)(params, **kwargs)
            return o.step() if late else repr(o)

        yield program


def drawn(info: Any, of: torch.dtype) -> tuple[list[Any], list[list[Any]]]:
    """Parameters, and gradients for each step."""
    torch.manual_seed(0)
    shapes = [(4, 3), (2, 5), (3, 3)] if info.name == "Muon" else [(4, 3), (3,), (2, 3, 2), ()]
    make = [torch.randn(s, dtype=of) for s in shapes]
    gradients = [[torch.randn(s, dtype=of) for s in shapes] for _ in range(STEPS)]
    if info.only_supports_sparse_grads:
        gradients = [
            [g[None].to_sparse(1)[0] if not g.ndim else g.to_sparse(1) for g in each[:3]]
            for each in gradients
        ]
    return [torch.nn.Parameter(p) for p in make[: len(gradients[0])]], gradients


def used(package: ModuleType, which: str, info: Any, file: bytes) -> Any:
    """A sample, used in one way."""
    return WAYS[which](Trial(package, info, file))


def sweep(ways: list[str], only: str, dtypes: list[str]) -> Report:
    """Every optimizer, dtype and configuration in these ways."""
    report = Report()
    for info in optim_db:
        for of in (getattr(torch, d) for d in dtypes):
            if (
                not re.search(only, info.name)
                or (of.is_complex and not info.supports_complex)
                or (info.step_requires_closure and of is not torch.float64)
            ):  # searches multiply roundings
                continue
            inputs = _get_optim_inputs_including_global_cliquey_kwargs("cpu", of, info)
            for config in inputs:
                file, label = saved((config.kwargs, *drawn(info, of))), f"{str(of)[6:]} {config.desc}"
                for which in ways:
                    if which in MAY_HAVE_MORE and isinstance(run(torch, used, which, info, file)[0], Raised):
                        continue
                    if which in WAYS:
                        report.add(which, info.name, label, both(used, which, info, file))
                    elif which == "crossed":
                        report.add(which, info.name, label, crossed(info, file))
                for makers in info.scheduler_inputs if "schedulers" in ways else ():
                    report.add(
                        "schedulers",
                        info.name,
                        label,
                        both(lambda p: scheduled(Trial(p, info, file), makers)),
                    )
            for n, program in enumerate(refused(info, of) if "errors" in ways else ()):
                report.add("errors", info.name, f"{str(of)[6:]} {n}", both(program))
    return report


def main() -> int:
    """Sweep, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ways", default=",".join([*WAYS, "schedulers", "crossed", "errors"]))
    parser.add_argument("--only", default="")
    parser.add_argument("--dtypes", default="float32,float64,complex64,bfloat16")
    options = parser.parse_args()
    torch.set_num_threads(1)
    return sweep(options.ways.split(","), options.only, options.dtypes.split(",")).printed()


if __name__ == "__main__":
    sys.exit(main())
