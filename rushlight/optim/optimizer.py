"""The base of all optimizers: parameter groups, state, hooks, checkpoints."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from importlib import import_module
from itertools import chain
from typing import Any

from rushlight._engine.autograd.grad_mode import LOCAL, enable_grad
from rushlight._engine.core.callers import deprecated, warn
from rushlight._engine.core.dtype import float32
from rushlight._engine.core.profiling_ranges import SPANS, spanned
from rushlight._engine.core.recording import TAPE, escape, heard, region, settle
from rushlight._engine.lazy import all_subclasses
from rushlight._engine.tensors.gradient import zero_gradient
from rushlight._engine.tensors.tensor import Tensor
from rushlight.utils.hooks import RemovableHandle, add_hook


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()
_global_pre: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_post: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(optimizer, (optimizer, *args), kwargs) before every step of every optimizer."""
    return add_hook(_global_pre, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(optimizer, args, kwargs) after every step of every optimizer."""
    return add_hook(_global_post, hook)


_HookTable = OrderedDict[int, Callable[..., Any]]


@functools.cache
def _place(cls: str, method: str) -> str:
    """The name in a profile of a method of a class, by its name."""
    return f"Optimizer.{method}#{cls}.{method}"


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(step)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if TAPE and (args or kwargs) and any(map(callable, (*args, *kwargs.values()))):
            escape("an optimizer's step has a closure, which computes in Python")
        elif TAPE and not (region() is not None and self._in_buckets()) and heard() is not None:
            return TAPE[-1].call(functools.partial(wrapper, self, *args, **kwargs))
        hooked = _global_pre or _global_post
        if not (hooked or self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks):
            found = (
                spanned(_place(type(self).__name__, "step"), step, self, *args, **kwargs)
                if SPANS
                else step(self, *args, **kwargs)
            )
            self._optimizer_step_code()
            return found
        place = _place(type(self).__name__, "step")
        args = (self, *args)  # hooks see the optimizer among the arguments
        for hook in chain(_global_pre.values(), self._optimizer_step_pre_hooks.values()):
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
        found = spanned(place, step, *args, **kwargs)
        self._optimizer_step_code()
        for hook in chain(self._optimizer_step_post_hooks.values(), _global_post.values()):
            hook(self, args, kwargs)
        return found

    setattr(wrapper, "hooked", True)
    return wrapper


def _use_grad_for_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates step(self, ...) of an optimizer: gradients are recorded with differentiable=True only."""

    @functools.wraps(step)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        tracked = bool(self.defaults.get("differentiable")) and not LOCAL.inference
        before, LOCAL.enabled = LOCAL.enabled, tracked
        try:
            return step(self, *args, **kwargs)
        finally:
            LOCAL.enabled = before

    return wrapper


class Optimizer:
    """The base of all optimizers: parameters in groups, each with options of its own, and a state for each
    parameter.

    params: an iterable of tensors, of (name, tensor) pairs, or of dicts with "params" and options that differ
    from the defaults. A subclass defines `_step_group(group)`, which applies one step to a group's
    parameters, or step().

    Options that mean the same in all optimizers: `maximize` ascends; `foreach`, `fused` (None: what is
    quickest) choose among kernels, fused ones round once at the end of a step; `differentiable` records the
    step itself; `capturable` keeps step counts in tensors. ValueError for a negative lr, eps, weight_decay,
    momentum or a beta outside [0, 1), and for no parameters at all.
    """

    __subclasses__ = all_subclasses("rushlight.optim")

    def _patch_step_function(self) -> None:
        """Let the class's step() call the hooks, where it does not yet (for subclasses that do not call
        __init__).
        """
        step = type(self).step
        if not getattr(step, "hooked", False):
            setattr(type(self), "step", self.profile_hook_step(step))

    # What a step becomes that calls the hooks.
    profile_hook_step = staticmethod(_hooked)

    def _optimizer_step_code(self) -> None:
        """Called after each step(), before the hooks, for tools that look at an optimizer then."""

    def _accelerator_graph_capture_health_check(self) -> None:
        """RuntimeError where step() is captured into a graph although a group is not capturable."""
        # Few programs capture.
        from rushlight import cuda

        if TAPE or not cuda.is_available():
            return
        capturing = cuda.is_current_stream_capturing()
        capturable = all([group["capturable"] for group in self.param_groups])
        if capturing and not capturable:
            raise RuntimeError(
                "Attempting CUDA graph capture of step() for an instance of "
                f"{type(self).__name__} but param_groups' capturable is False."
            )
        if capturable and not capturing and not getattr(self, "_warned_capturable_if_run_uncaptured", False):
            warn(
                "This instance was constructed with capturable=True or some of all the param_groups came "
                "with capturable=True, but step() is running without CUDA graph capture. If you never intend "
                "to graph-capture this instance, capturable=True can impair performance, and you should set "
                "capturable=False."
            )
            self._warned_capturable_if_run_uncaptured = True

    @deprecated("Use _accelerator_graph_capture_health_check instead")
    def _cuda_graph_capture_health_check(self) -> None:
        """_accelerator_graph_capture_health_check() by its older name."""
        self._accelerator_graph_capture_health_check()

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> Any:
        """Lists of tensors cut up by the first list's devices and dtypes, for optimizers of others."""
        # for optimizers of others
        from rushlight.utils import _foreach_utils

        return _foreach_utils._group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    # Hooks by the number of their handle.
    _optimizer_step_pre_hooks: _HookTable
    _optimizer_step_post_hooks: _HookTable
    _optimizer_state_dict_pre_hooks: _HookTable
    _optimizer_state_dict_post_hooks: _HookTable
    _optimizer_load_state_dict_pre_hooks: _HookTable
    _optimizer_load_state_dict_post_hooks: _HookTable

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._init_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {params.type()}"
            )
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))
        self._patch_step_function()
        self._warned_capturable_if_run_uncaptured = True

    def _init_hooks(self) -> None:
        for when in (
            "step_pre",
            "step_post",
            "state_dict_pre",
            "state_dict_post",
            "load_state_dict_pre",
            "load_state_dict_post",
        ):
            self.__dict__[f"_optimizer_{when}_hooks"] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._init_hooks()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    # --- parameters -----------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a dict of "params" and options that differ; ValueError for a parameter that is in a group
        already.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            param_group["params"] = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of "
                "tensors in sets will change between runs. Please use a list instead."
            )
        else:
            param_group["params"] = list(params)
        self._take_names(param_group)
        for p in param_group["params"]:
            self._check_param(p)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
            param_group.setdefault(name, default)
        ids = [id(p) for p in param_group["params"]]
        if len(ids) != len(set(ids)):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause "
                "an error; see github.com/pytorch/pytorch/issues/40967 for more information"
            )
        if {"param_names" in group for group in self.param_groups} - {"param_names" in param_group}:
            names = "with names" if "param_names" in param_group else "without names"
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {names} to the optimizer"
            )
        seen = {id(p) for group in self.param_groups for p in group["params"]}
        if seen & set(ids):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    @staticmethod
    def _take_names(group: dict[str, Any]) -> None:
        pairs = [p for p in group["params"] if isinstance(p, tuple)]
        if not pairs:
            return
        if len(pairs) != len(group["params"]):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        group["param_names"] = [name for name, _ in pairs]
        group["params"] = [p for _, p in pairs]

    def _check_param(self, p: Any) -> None:
        if not isinstance(p, Tensor):
            raise TypeError(
                f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}"
            )
        if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients: `grad` is None; with set_to_none=False, zeros in the same memory."""
        if TAPE and (not set_to_none or region() is None) and heard() is not None:
            TAPE[-1].call(self.zero_grad, set_to_none)
            return
        if SPANS:
            spanned(_place(type(self).__name__, "zero_grad"), self._forget_grads, set_to_none)
        else:
            self._forget_grads(set_to_none)

    def _forget_grads(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            if set_to_none:
                for p in group["params"]:
                    p._grad = None
                continue
            for p in group["params"]:
                if p.grad is not None:
                    zero_gradient(p.grad)

    # --- stepping -------------------------------------------------------------------------------

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters in place, those without a gradient excepted.

        closure: computes the loss anew, with gradients, and returns it; step() returns that, or None without
        one.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        try:
            for group in self.param_groups:
                self._step_group(group)
        finally:
            settle()
        return loss

    def _in_buckets(self) -> bool:
        """Whether all that step() does to memory is to step buckets of parameters (elementwise.py)."""
        return False

    def _step_group(self, group: dict[str, Any]) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines neither step nor _step_group(group)")

    # --- hooks ----------------------------------------------------------------------------------

    def _register(self, when: str, hook: Any, prepend: bool = False) -> RemovableHandle:
        return add_hook(self.__dict__[f"_optimizer_{when}_hooks"], hook, prepend=prepend)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) before each step; may return new (args, kwargs)."""
        return self._register("step_pre", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) after each step."""
        return self._register("step_post", hook)

    def register_state_dict_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer) before state_dict()."""
        return self._register("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer, state_dict) after state_dict(); a result replaces it."""
        return self._register("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer, state_dict) before loading; a result replaces it."""
        return self._register("load_state_dict_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer) after loading."""
        return self._register("load_state_dict_post", hook, prepend)

    # --- checkpoints ----------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """{"state": {number: state}, "param_groups": [...]}: states as they are, parameters by number."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed = {k: v for k, v in group.items() if k != "params"}
            groups.append({**packed, "params": [numbers[id(p)] for p in group["params"]]})
        state = {(numbers[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        found: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, found)
            found = found if changed is None else changed
        return found

    @staticmethod
    def _process_value_according_to_param_policy(
        param: Tensor,
        value: Tensor,
        param_id: int,
        param_groups: list[dict[str, Any]],
        key: Hashable = None,
    ) -> Tensor:
        """A tensor of the state as the parameter needs it: in its dtype if that is a floating one, and on its
        device. `step` stays as it is; float32 beside the parameter where its saved group is fused or
        capturable. Optimizers that keep state otherwise override this.
        """
        if key != "step":
            dtype = param.dtype if param.is_floating_point() else value.dtype
            return value.to(device=param.device, dtype=dtype)
        group = next((group for group in param_groups if param_id in group["params"]), {})
        if group.get("fused") or group.get("capturable"):
            return value.to(device=param.device, dtype=float32)
        return value

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state_dict(): states are cast to their parameters' dtypes and devices; parameters stay
        as they are.

        ValueError where groups or their sizes do not fit, with nothing changed.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size "
                "of optimizer's group"
            )
        by_number = dict(
            zip(
                chain.from_iterable(s["params"] for s in saved),
                chain.from_iterable(g["params"] for g in groups),
                strict=True,
            )
        )
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            p = by_number.get(key)
            if p is None:
                state[key] = value
            else:
                state[p] = _cast(self._process_value_according_to_param_policy, p, value, key, saved)
        fresh = [{**s, "params": g["params"]} for g, s in zip(groups, saved, strict=True)]
        for g, f in zip(groups, fresh, strict=True):
            if "param_names" in g and "param_names" not in f:
                f["param_names"] = g["param_names"]
        self.__setstate__({"state": state, "param_groups": fresh})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


def _cast(
    process: Callable[..., Tensor],
    p: Tensor,
    value: Any,
    number: int,
    groups: list[dict[str, Any]],
    key: str | None = None,
) -> Any:
    """State of the parameter `p`, saved under `number`: its tensors as `process` says, in what holds them."""
    if isinstance(value, Tensor):
        found = process(p, value, number, groups, key)
        return found.clone() if found is value else found
    if isinstance(value, dict):
        return {k: _cast(process, p, v, number, groups, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        kind: Callable[[Iterable[Any]], Any] = type(value)
        return kind(_cast(process, p, v, number, groups) for v in value)
    return value


def __getattr__(name: str) -> Any:
    """What optimizers of others are made of lies in parts.py, which nothing loads before it is asked for."""
    # for optimizers of others
    from rushlight.optim import parts

    found = vars(parts).get(name)
    if found is None or getattr(found, "__module__", parts.__name__) != parts.__name__:
        alternatives = import_module("rushlight._engine.names.alternatives")
        found = alternatives.attribute("rushlight.optim.optimizer", name)
    globals()[name] = found
    return found


ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]
