"""Optimizers that step every element by itself: a formula, and a plan that runs it for all parameters."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from itertools import chain, repeat
from operator import attrgetter, is_, is_not
from struct import Struct
from typing import Any, NamedTuple, NoReturn

import numpy as np

from rushlight._engine.core.dtype import get_default_dtype
from rushlight._engine.core.profiling_ranges import spanned
from rushlight._engine.core.recording import TAPE, region
from rushlight._engine.dispatch.tensor_rows import TENSOR_ROWS
from rushlight._engine.kernels.runtime import native
from rushlight._engine.tensors.tensor import Tensor, storage, wrap
from rushlight._engine.tensors.watches import Numbers, Watch, bump
from rushlight.optim import optimizer, updates
from rushlight.optim.checks import check_options
from rushlight.optim.optimizer import Optimizer

# Stands for the state of a parameter that needs none.
_NOTHING: dict[str, Any] = {}
# Whose truth does not change.
_PLAIN = (bool, int, float, str, type(None))
_memory, _gradient = attrgetter("_array"), attrgetter("_grad")
_item: Callable[[Any], Any] = np.ndarray.item


class GroupKey(NamedTuple):
    """What the plans of a parameter group hold for: while it is equal, no option has changed what is done."""

    parameters: int  # how many
    capturable: Any
    differentiable: Any
    foreach: Any
    fused: Any
    switches: tuple[bool, ...]  # the options that the formula depends on (Elementwise._switches)


class StepBucket:
    """Parameters of a group that one kernel steps: of one dtype, one step count, one value of each number
    state.

    It keeps what stays the same from step to step while the same parameters have gradients.
    """

    __slots__ = (
        "params",
        "states",
        "names",
        "key",
        "fused",
        "switches",
        "options",
        "kernel",
        "complex",
        "rest",
        "tensors",
        "held",
        "fixed",
        "storages",
        "counters",
        "numbers",
        "step",
        "quick",
        "put_off",
        "often",
        "__weakref__",
    )

    def __init__(
        self,
        params: list[Tensor],
        states: list[dict[str, Any]],
        names: tuple[str, ...],
        key: GroupKey,
        step: int,
        numbered: tuple[str, ...],
    ) -> None:
        self.step = step  # how many there have been
        self.params, self.states, self.names, self.key = params, states, names, key
        self.fused = bool(key.fused)
        self.switches = key.switches
        self.options: tuple[Any, ...] | None = None
        self.kernel: Any = None
        self.complex = params[0].is_complex()  # all are of one dtype
        counted = [s for s in states if "step" in s]
        self.rest = [*chain.from_iterable(map(dict.values, states))]
        self.tensors = [*params, *[s[n] for s in states for n in names], *[s["step"] for s in counted]]
        if any(t._kind.lazy for t in self.tensors):
            raise NotImplementedError(
                "optimizers step memory that holds values; a parameter is conjugated or negated when it is "
                "read: resolve_conj() or resolve_neg() it first"
            )
        self.held = [*map(_memory, self.tensors)]
        self.fixed = [
            [*map(_real, (p._array, *[s[n]._array for n in names]))]
            for p, s in zip(params, states, strict=True)
        ]
        self.storages = [*map(storage, self.tensors[: len(params) * (1 + len(names))])]
        self.counters = [s["step"]._array for s in counted]
        # What all have the same of: the arrays of each count and number.
        carried = [[s[n]._array for s in states] for n in numbered] if len(states) > 1 else []
        self.numbers = [arrays for arrays in carried if all([isinstance(a, np.ndarray) for a in arrays])]
        # The same for machine code, once it is there.
        self.quick: list[Numbers] | None = None
        # What a matched call knows it as (_engine/trace/updates.py), and how often it has stepped in one.
        self.put_off: Any = None
        self.often = 0

    def number(self, name: str) -> Any:
        """A carried number, as it is stored."""
        return self.states[0][name]._array[()]

    def quicken(self) -> None:
        """Let machine code do what it can, as it is there."""
        found = [Numbers(arrays) for arrays in self.numbers]
        self.quick = found if all([n.usable for n in found]) else None

    def noted(self) -> None:
        """The step is done, but for what the kernel does."""
        self._count()
        bump(self.storages, self.quick is not None)

    def _count(self) -> None:
        if self.quick and self.counters and self.numbers[0][0] is self.counters[0]:
            self.quick[0].put(self.step)
            return
        for counter in self.counters:
            counter[()] = self.step

    def back(self) -> None:
        """A step that was noted will not be done."""
        self.step -= 1
        self._count()

    def together(self) -> bool:
        """Whether all parameters still have one count, and one value of each number."""
        if self.quick is not None:
            return all([n.equal() for n in self.quick])
        return all([len({*map(_item, arrays)}) == 1 for arrays in self.numbers])

    def carry(self, name: str, value: Any) -> None:
        """Give all parameters this number."""
        for s in self.states:
            s[name]._array[...] = value

    def fits(self, table: Any) -> bool:
        """Whether parameters and states still lie where they lay."""
        now = [*chain.from_iterable(map(dict.values, self.states))]
        return (
            len(now) == len(self.rest)
            and all(map(is_, now, self.rest))
            and all(map(is_, map(_memory, self.tensors), self.held))
            and all(map(is_, map(table.get, self.params, repeat(_NOTHING)), self.states))
        )

    def arrays(self) -> list[tuple[Any, ...]]:
        """(parameter, gradient, *states) of all parameters; gradients are not kept from step to step, so
        that zero_grad() gives their memory back.
        """
        gradients = map(_memory, map(_gradient, self.params))
        if self.complex:
            gradients = map(_real, gradients)
        return [(p, g, *rest) for g, (p, *rest) in zip(gradients, self.fixed, strict=True)]


class _Plans:
    """The plans of a group, and which of its parameters have gradients (members).

    watch: what says that all is as it was at the last step, which is found out the long way until machine
    code is there.
    """

    __slots__ = ("group", "members", "params", "plans", "state", "watch")

    def __init__(
        self, group: dict[str, Any], state: Any, members: list[Tensor], plans: list[StepBucket]
    ) -> None:
        self.group, self.state, self.members, self.plans = group, state, members, plans
        self.watch: Watch | None = None
        self.params = group["params"]  # the list that is watched

    def hold(self, optimizer: Elementwise, group: dict[str, Any]) -> bool:
        """Whether they hold: same parameters with gradients, same options, same memory."""
        if not all([plan.together() for plan in self.plans]):
            return False
        watch = self.watch
        if optimizer.state is self.state and group is self.group:
            if watch is not None and watch.same():
                return True
            if watch is None or group["params"] is not self.params:
                self.params = group["params"]
                watch = self.watch = watched(optimizer, group, self.plans) if native.loaded() else None
        else:
            watch = self.watch = None
        words = None if watch is None else watch.look()
        holds = self._hold(optimizer, group)
        if holds and watch is not None and _switches_are_plain(optimizer, group):
            watch.keep(words)
        return holds

    def _hold(self, optimizer: Elementwise, group: dict[str, Any]) -> bool:
        params, members = group["params"], self.members
        if len(params) == len(members):  # as is usual
            alike = all(map(is_, params, members)) and all(map(is_not, map(_gradient, members), repeat(None)))
        else:
            have = [p for p in params if getattr(p, "_grad", None) is not None]
            alike = len(have) == len(members) and all(map(is_, have, members))
        key = self.plans[0].key if self.plans else None  # all of them have one
        return alike and (
            key is None
            or (key == optimizer._key(group) and all([plan.fits(optimizer.state) for plan in self.plans]))
        )


def watched(optimizer: Elementwise, group: dict[str, Any], plans: list[StepBucket]) -> Watch:
    """What sees whether a group's plans hold."""
    watch = Watch()
    for plan in plans if watch.usable else ():
        plan.quicken()
    watch.dict(group)
    watch.list(group["params"])
    for p in group["params"]:
        watch.filled(p, Tensor, "_grad")
    watch.dict(optimizer.state)
    for plan in plans:
        for state in plan.states:
            watch.dict(state)
        for t, memory in zip(plan.tensors, plan.held, strict=True):
            watch.slot(t, Tensor, "_array", memory)
    return watch


def _switches_are_plain(optimizer: Elementwise, group: dict[str, Any]) -> bool:
    """Whether what decides about the formula changes with the group only."""
    decide = ("capturable", "differentiable", "foreach", "fused", *optimizer._switches)
    return all([isinstance(group.get(name), _PLAIN) for name in decide])


class Elementwise(Optimizer):
    """An optimizer that computes a parameter's new value and states element by element, by one formula.

    A subclass is declared with `formula=`, a function of switches: the group's options (by name, as bools)
    that decide which formula it is and which states there are. Parameters of it with a default are no
    options, but what `_options` appends. `_scalars` gives the numbers that the formula mentions and that are
    no options.
    """

    _only_here = True
    _switches: tuple[str, ...]  # names of the formula's options
    _counted = True  # whether there is a state `step`
    _number_states: tuple[str, ...] = ()  # further states, of one number for each parameter
    _initial: dict[str, Any] = {}  # what states begin with if not with 0: a number, or an option's name
    # Options that checkpoints of older versions of PyTorch lack, with what they are then.
    _defaults_of_older_groups: dict[str, Any] = {}
    _graph_devices = "['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']"
    _capture_states = "params and state_steps"
    _formula: Callable[..., updates.Formula]

    def __init_subclass__(cls, formula: Callable[..., updates.Formula] | None = None, **more: Any) -> None:
        super().__init_subclass__(**more)
        if formula is not None:
            parameters = inspect.signature(formula).parameters.values()
            cls._formula = staticmethod(formula)
            cls._switches = tuple([p.name for p in parameters if p.default is inspect.Parameter.empty])

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The states of a group's parameters that have the parameter's shape."""
        return updates.states(self._formula, self._key(group).switches)

    def _options(self, group: dict[str, Any], plan: StepBucket) -> tuple[Any, ...]:
        """The arguments of the formula at the step numbered plan.step."""
        return plan.switches

    def _scalars(self, group: dict[str, Any], lr: Any, step: int, plan: StepBucket) -> dict[str, Any]:
        """The numbers in the formula, by name, that are no options of the group; may carry numbers on."""
        return {}

    def _numbers(self, group: dict[str, Any], lr: Any, plan: StepBucket, names: tuple[str, ...]) -> list[Any]:
        """The numbers with these names at the step numbered plan.step; `wd` is the factor of an L2 penalty,
        `shrink` what decay of the parameter leaves.
        """
        known, decay = self._scalars(group, lr, plan.step, plan), group.get("weight_decay")
        known["lr"] = lr
        if decay:
            known["wd"], known["shrink"] = decay, 1 - lr * decay
        return [known[name] if name in known else group[name] for name in names]

    def _first(self, name: str, group: dict[str, Any]) -> Any:
        """The number that the state `name` begins with."""
        start = self._initial.get(name, 0.0)
        return number(group[start]) if isinstance(start, str) else start

    def _in_buckets(self) -> bool:
        return self._plain() and not any([group.get("differentiable") for group in self.param_groups])

    def _plain(self) -> bool:
        """Whether no subclass has changed what a step is."""
        own = type(self)
        return (
            own._step_group is Elementwise._step_group
            and getattr(own.step, "__wrapped__", None) is Optimizer.step
            and own._optimizer_step_code is Optimizer._optimizer_step_code
            and hasattr(self._init_group, "collects")
        )

    def again(self, step: Callable[[], Any]) -> Callable[[], Any]:
        """`step`, a call of step(), as a program has it at every replay."""
        return _Again(self, step)

    def _start(self, params: Any, given: dict[str, Any], names: str) -> None:
        """What __init__ does: `given` are its arguments, `names` those that are options, in order."""
        options = {name: given[name] for name in names.split()}
        check_options(options)
        super().__init__(params, options)
        if options.get("fused"):
            vars(self)["_step_supports_amp_scaling"] = True  # GradScaler asks

    # --- states -------------------------------------------------------------------------------------

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.pop("_plans", None)
        for group in self.param_groups:
            for name in ("maximize", "differentiable", "foreach", "capturable"):
                if name in self.defaults:
                    group.setdefault(name, self.defaults[name] if name == "foreach" else False)
            for name, default in self._defaults_of_older_groups.items():
                group.setdefault(name, default)
            for p in group["params"]:
                held: dict[str, Any] = self.state.get(p) or {}
                for name in ("step", *self._number_states) if held else ():
                    if not isinstance(held.get(name, held), (Tensor, dict)):
                        held[name] = scalar(float(held[name]), bool(group.get("fused")))

    def _state_of(self, group: dict[str, Any], p: Tensor, names: tuple[str, ...]) -> dict[str, Any]:
        if not self._counted and not names:
            return _NOTHING
        state: dict[str, Any] = self.state[p]
        if self._counted and "step" not in state:
            state["step"] = scalar(0.0, bool(group.get("fused")))
        for name in self._number_states:
            if name not in state:
                state[name] = scalar(self._first(name, group))
        for name in names:
            if state.get(name) is None:
                start = self._first(name, group)
                start = complex(start, start) if p.is_complex() else start
                state[name] = p._state(
                    TENSOR_ROWS["full_like"](p.detach(), start)
                    if p._kind.on_meta
                    else wrap(np.full_like(p._array, start), p._kind)
                )
        return state

    # --- stepping -----------------------------------------------------------------------------------

    # Appends to lists what a step of a group is about; of a subclass' own, the step is by those lists.
    _init_group: Callable[..., Any]
    _sparse_instead = ""

    def _collect(
        self,
        group: dict[str, Any],
        params_with_grad: list[Tensor],
        grads: list[Tensor],
        **lists: list[Any],
    ) -> bool:
        """Append the parameters that have gradients, these, and of their states, which begin now, those
        that `lists` names and this group has. Whether any parameter is complex.
        """
        names, has_complex = self._names(group), False
        for p in group["params"]:
            if p.grad is None:
                continue
            if p.grad.is_sparse:
                self._refuse_sparse()
            has_complex |= p.is_complex()
            params_with_grad.append(p)
            grads.append(p.grad)
            state = self._state_of(group, p, names)
            for name, held in lists.items():
                if name in state:
                    held.append(state[name])
        return has_complex

    def _collector(self) -> type[Elementwise]:
        """The class whose lists _init_group fills."""
        return next(c for c in type(self).__mro__ if hasattr(vars(c).get("_init_group"), "collects"))

    def _refuse_sparse(self) -> NoReturn:
        name = self._collector().__name__
        raise RuntimeError(f"{name} does not support sparse gradients{self._sparse_instead}")

    def _step_group(self, group: dict[str, Any]) -> None:
        if not hasattr(self._init_group, "collects"):
            # Few classes have one of their own.
            from rushlight.optim import functional

            functional.step_lists(self, self._collector(), group)
            return
        aside = self._step_sparse(group) if "rushlight.sparse" in sys.modules else []
        kept: dict[int, _Plans] = self.__dict__.setdefault("_plans", {})
        found = kept.get(id(group))
        if found is None or not found.hold(self, group):
            found = kept[id(group)] = self._make_plans(group)
        for plan in found.plans if not group.get("fused") or updates.unscaled(self, found.members) else ():
            self._run(group, plan)
        for p, grad in aside:
            p._grad = grad

    def _step_sparse(self, group: dict[str, Any]) -> list[tuple[Tensor, Any]]:
        """Step the parameters with sparse gradients; these are put aside, and returned."""
        found = [(p, p.grad) for p in group["params"] if p.grad is not None and p.grad.is_sparse]
        if found and group.get("fused"):
            raise RuntimeError("`fused` does not support sparse gradients: pass fused=False")
        for p, grad in found:
            unique = grad.coalesce()
            self._sparse_step(
                group, p, tuple(unique.indices()), -unique.values() if group["maximize"] else unique.values()
            )
            p._grad = None
        return found

    def _sparse_step(self, group: dict[str, Any], p: Tensor, at: tuple[Tensor, ...], g: Any) -> None:
        """Step p where it has a gradient: g, at the places `at`."""
        self._refuse_sparse()

    def _run(self, group: dict[str, Any], plan: StepBucket) -> None:
        backend = plan.params[0]._kind.backend
        if backend is not None and backend.capture is not None:
            self._capture(group, plan, backend)
            return
        differentiable = group.get("differentiable")
        by_ops = differentiable or plan.params[0]._kind.on_meta  # wrappers have no memory to step
        plan.step = (int(plan.counters[0]) if plan.counters else plan.step) + 1
        lr = group["lr"] if differentiable else number(group["lr"])
        options = self._options(group, plan)
        if by_ops:
            formula = self._formula(*options)
            names = updates.scalars(formula, plan.names)
            for counter in plan.counters:
                counter[...] = plan.step
            _record(plan, formula, dict(zip(names, self._numbers(group, lr, plan, names), strict=True)))
        else:
            if options != plan.options:
                plan.options = options
                plan.kernel = updates.kernel(self._formula, plan.names, options, plan.fused)
            numbers = [*map(float, self._numbers(group, lr, plan, plan.kernel.scalars))]
            if backend is not None:
                backend.run_step(plan.kernel, plan.arrays(), numbers)
            elif region() is None or not TAPE[-1].update(plan, numbers):
                plan.kernel(plan.arrays(), numbers)
            plan.noted()

    def _carry_on(self, group: dict[str, Any], plan: StepBucket) -> None:
        """Carry numbers on that depend on the step that is done."""

    def _capture(self, group: dict[str, Any], plan: StepBucket, backend: Any) -> None:
        """A step that is captured into a graph: each replay is the next one, with its own numbers."""
        if group.get("differentiable"):
            raise RuntimeError(f"{type(self).__name__}: a step with differentiable=True cannot be captured")
        live = backend.capture.live
        if self._counted and not live:
            self._accelerator_graph_capture_health_check()
        fixed = number(group["lr"])

        def advance() -> list[float]:
            lr = number(group["lr"]) if live else fixed
            begun = int(plan.states[0]["step"]._array) if self._counted else plan.step
            plan.step = begun + 1
            return [*map(float, self._numbers(group, lr, plan, plan.kernel.scalars))]

        def again() -> list[float]:
            numbers = advance()
            plan.noted()
            self._carry_on(group, plan)
            return numbers

        before = plan.step
        plan.step += 1
        options = self._options(group, plan)
        if options != plan.options:
            plan.options = options
            plan.kernel = updates.kernel(self._formula, plan.names, options, plan.fused)
        carried = [(name, plan.number(name)) for name in self._number_states]
        numbers = advance()
        plan.step = before
        for name, value in carried:  # nothing is done yet
            plan.carry(name, value)

        def same() -> bool:
            """Whether the next step is by the kernel that was captured."""
            if plan.key != self._key(group):
                return False
            plan.step += 1
            try:
                return self._options(group, plan) == options
            finally:
                plan.step -= 1

        if live:
            backend.capture.same.append(same)
        backend.run_step(plan.kernel, plan.arrays(), numbers, again if self._counted or live else None)

    def _key(self, group: dict[str, Any]) -> GroupKey:
        """What a group's plans are made for."""
        return GroupKey(
            len(group["params"]),
            group.get("capturable"),
            group.get("differentiable"),
            group.get("foreach"),
            group.get("fused"),
            tuple(map(bool, map(group.__getitem__, self._switches))),
        )

    def _make_plans(self, group: dict[str, Any]) -> _Plans:
        """What steps the parameters that have gradients now."""
        self._check_mode(group)
        names, key = self._names(group), self._key(group)
        members = [p for p in group["params"] if getattr(p, "_grad", None) is not None]
        numbered = ("step", *self._number_states) if self._counted else self._number_states
        buckets: dict[Any, list[Tensor]] = {}
        for p in members:
            # Without a count, all that matters is whether this is the first step.
            begun = int(all(self.state.get(p, _NOTHING).get(name) is not None for name in names))
            state = self._state_of(group, p, names)
            step = int(number(state["step"])) if self._counted else begun
            carried = [state[name].item() for name in self._number_states]
            buckets.setdefault((step, p._kind, *carried), []).append(p)
        plans = [
            StepBucket(params, [self.state.get(p, _NOTHING) for p in params], names, key, step, numbered)
            for (step, *_), params in buckets.items()
        ]
        return _Plans(group, self.state, members, plans)

    def _check_mode(self, group: dict[str, Any]) -> None:
        given = any(getattr(p, "_grad", None) is not None for p in group["params"])
        there = all(p.is_cuda for p in group["params"])
        if given and group.get("capturable") and not group.get("fused") and not there:
            raise AssertionError(
                f"If capturable=True, {self._capture_states} must be on supported devices: "
                f"{self._graph_devices}. Rushlight's tensors are on the CPU: leave it False"
            )
        if group.get("foreach") and group.get("differentiable"):
            raise AssertionError("_foreach ops don't support autograd: pass foreach=False")
        if group.get("fused"):
            for p in group["params"]:
                if not p.is_floating_point():
                    raise RuntimeError(
                        "`fused=True` requires all the params to be floating point Tensors of "
                        f"supported devices: ['cpu'] but {p.dtype} and {p.device.type}"
                    )


def _record(plan: StepBucket, formula: updates.Formula, numbers: dict[str, Any]) -> None:
    """The step as ops that autograd records; old values are copied, since they may be saved."""
    import rushlight  # `rushlight` loads this file

    for p, state in zip(plan.params, plan.states, strict=True):
        assert p.grad is not None  # noqa: S101 - a plan is of parameters that have one
        tensors = {"p": p, "g": p.grad.resolve_conj(), **{name: state[name] for name in plan.names}}
        if p.is_complex():
            tensors = {name: rushlight.view_as_real(t) for name, t in tensors.items()}
        env = {**numbers, **{name: t.clone() for name, t in tensors.items()}}
        for name, value in updates.with_ops(formula, env).items():
            tensors[name].copy_(value)


def number(value: Any) -> Any:
    """A number as it is, a tensor of one element as a number of its own dtype."""
    return value._array.reshape(())[()] if isinstance(value, Tensor) else value


def scalar(value: Any, single: bool = False) -> Tensor:
    """A state of one number: float32, or float64 where that is the default dtype."""
    wide = get_default_dtype().name == "float64" and not single
    return wrap(np.array(value, np.float64 if wide else np.float32))


def _real(a: Any) -> Any:
    """Complex numbers as pairs of real ones, which are stepped apart."""
    return a if a.dtype.kind != "c" else a[..., None].view(a.real.dtype)


# --- inside a compiled program: decided beforehand, while it is about the same objects -------------------


class _Again:
    """Call it for `step`, which is the optimizer's step()."""

    def __init__(self, optimizer: Elementwise, step: Callable[[], Any]) -> None:
        self.optimizer, self.step, self.plain = optimizer, step, optimizer._plain()
        self.groups: list[_Group] = []

    def __call__(self) -> None:
        """One step."""
        o, groups, own = self.optimizer, self.groups, self.optimizer.__dict__
        heard = (
            optimizer._global_pre
            or optimizer._global_post
            or (own["_optimizer_step_pre_hooks"] or own["_optimizer_step_post_hooks"])
            or ("found_inf" in own or "grad_scale" in own)
        )
        if (
            groups
            and not heard
            and len(groups) == len(o.param_groups)
            and all([g.group is group and g.holds() for g, group in zip(groups, o.param_groups)])
        ):
            spanned(optimizer._place(type(o).__name__, "step"), self._run)
            return
        self.step()
        if self.plain:
            made = [_group(o, group) for group in o.param_groups]
            self.groups = [] if None in made else made  # type: ignore[assignment]

    def _run(self) -> None:
        for g in self.groups:
            g.run()


def _group(o: Elementwise, group: dict[str, Any]) -> _Group | None:
    """A group that has just been stepped by one kernel for all its parameters, if it has."""
    found = o.__dict__.get("_plans", {}).get(id(group))
    plans: list[StepBucket] = [] if found is None else found.plans
    if len(plans) != 1 or len(plans[0].params) != len(group["params"]) or group.get("differentiable"):
        return None
    made = _Group(o, group, plans[0])
    return made if made.native is not None else None


class _Group:
    """A group of an optimizer, and where its kernel finds the next step's numbers."""

    def __init__(self, optimizer: Elementwise, group: dict[str, Any], plan: StepBucket) -> None:
        self.optimizer, self.group, self.plan = optimizer, group, plan
        self.gradients = [*map(_gradient, self.plan.params)]
        self.held = [*map(_memory, self.gradients)]
        self.options = optimizer._options(group, plan)
        kernel = updates.kernel(optimizer._formula, plan.names, self.options, plan.fused)
        self.names = kernel.scalars
        self.scalars: Any = np.zeros(len(self.names) + 1)
        self.pack = Struct(f"{len(self.names)}d").pack_into
        # Here, since few programs are compiled.
        from rushlight._engine.kernels.runtime.stages import Run

        self.state, self.watch = optimizer.state, watched(optimizer, group, [plan])
        self.params = group["params"]  # the list that is watched
        for t, memory in zip(self.gradients, self.held, strict=True):
            self.watch.slot(t, Tensor, "_array", memory)
        for p, t in zip(plan.params, self.gradients, strict=True):
            self.watch.slot(p, Tensor, "_grad", t)
        # Whether which formula it is does not depend on more than is watched.
        self.steady = type(optimizer)._options is Elementwise._options
        update = kernel.staged([*chain.from_iterable(self.plan.arrays())], self.scalars)
        self.native = None if update is None else Run([(update, _refused)])

    def holds(self) -> bool:
        """Whether the next step is about the same objects, by the same formula."""
        optimizer, group, plan = self.optimizer, self.group, self.plan
        if optimizer.state is not self.state or group["params"] is not self.params or not plan.together():
            return False
        if self.steady and self.watch.same():
            return True
        words = self.watch.look()
        if optimizer._key(group) != plan.key or not (
            len(group["params"]) == len(plan.params)
            and all(map(is_, group["params"], plan.params))
            and all(map(is_, map(_gradient, plan.params), self.gradients))
            and all(map(is_, map(_memory, self.gradients), self.held))
            and plan.fits(optimizer.state)
        ):
            return False
        plan.step = (int(plan.counters[0]) if plan.counters else plan.step) + 1
        same: bool = optimizer._options(group, plan) == self.options
        plan.step -= 1
        if same and _switches_are_plain(optimizer, group):
            self.watch.keep(words)
        return same

    def run(self) -> None:
        """The step."""
        plan = self.plan
        plan.step = (int(plan.counters[0]) if plan.counters else plan.step) + 1
        lr = number(self.group["lr"])
        self.pack(self.scalars, 0, *self.optimizer._numbers(self.group, lr, plan, self.names))
        self.native()  # type: ignore[misc]
        plan.noted()
        self.optimizer._carry_on(self.group, plan)


def _refused() -> None:
    raise RuntimeError("an optimizer's arrays were reshaped in place: assign new ones instead")
