"""An optimizer whose state dict tells parameters by their names in the module."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from copy import deepcopy
from typing import Any

from rushlight import Tensor, nn, optim, typename, zeros_like
from rushlight._engine.core.callers import warn


class _NamedOptimizer(optim.Optimizer):
    """Wraps an optimizer of `optimizer_class`, made with the further arguments.

    named_parameters: what module.named_parameters() gives. With param_groups, only these are trained.
    Loading needs a state to be there: after a step, or after init_state().
    """

    def __init__(
        self,
        named_parameters: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]],
        optimizer_class: Callable[..., optim.Optimizer],
        param_groups: Collection[dict[str, Any]] | None = None,
        module: nn.Module | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        from rushlight.distributed.fsdp import FullyShardedDataParallel  # what few programs need

        if isinstance(module, FullyShardedDataParallel):
            raise NotImplementedError(
                "_NamedOptimizer of an FSDP module: use FullyShardedDataParallel.optim_state_dict, whose "
                "names are those of the whole parameters"
            )
        self.named_parameters = dict(named_parameters)
        self.module = module
        chosen = None if param_groups is None else [self._checked(group) for group in param_groups]
        self._optimizer = optimizer_class(chosen or self.named_parameters.values(), *args, **kwargs)
        if chosen is None:
            self.ordered_param_keys = list(self.named_parameters)
        else:
            warn(
                "Since we pass in param_groups, we will use param_groups to initialize the optimizer, not "
                "all parameters of the module."
            )
            self.ordered_param_keys = []
            for group in chosen:
                self._name(group, "Expect param name {} found in param group but is missing.")
        self.param_groups = self._optimizer.param_groups

    @staticmethod
    def _checked(group: dict[str, Any]) -> dict[str, Any]:
        """A group whose parameters are a list."""
        if not isinstance(group, dict):
            raise AssertionError("param group must be a dict")
        if "params" not in group:
            raise AssertionError("param group must contain key params")
        found = group["params"]
        group["params"] = [found] if isinstance(found, Tensor) else list(found)
        for one in group["params"]:
            if not isinstance(one, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {typename(one)}"
                )
        return group

    def _name(self, group: dict[str, Any], unknown: str) -> None:
        """Note the names of a group's parameters."""
        names = {parameter: name for name, parameter in self.named_parameters.items()}
        for parameter in group["params"]:
            if parameter not in names:
                raise ValueError(unknown.format(parameter))
            self.ordered_param_keys.append(names[parameter])

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The wrapped optimizer's."""
        return self._optimizer.state

    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """A step of the wrapped optimizer."""
        return self._optimizer.step(closure)

    def state_dict(self) -> dict[str, Any]:
        """The wrapped optimizer's, with names in the place of numbers."""
        found, names = self._optimizer.state_dict(), self.ordered_param_keys
        groups = []
        for group in found["param_groups"]:
            rest = {key: deepcopy(value) for key, value in group.items() if key != "params"}
            groups.append({"params": sorted(names[i] for i in group["params"]), **rest})
        return {"state": {names[i]: state for i, state in found["state"].items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the states and options of the parameters that a state dict names; tensors in place."""
        found = self._optimizer.state_dict()
        if not found["state"]:
            raise ValueError("Expects the optim to be initialized before load but found not initialized.")
        for i, name in enumerate(self.ordered_param_keys):
            if name in state_dict["state"]:
                _take_state(found["state"][i], state_dict["state"][name], name)
        given = {_together(group["params"]): group for group in state_dict["param_groups"]}
        for group in found["param_groups"]:
            key = _together(self.ordered_param_keys[i] for i in group["params"])
            if key in given:
                _take_options(group, given[key], key)
        self._optimizer.load_state_dict(found)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Train further parameters of the module."""
        self._name(self._checked(param_group), "some parameters are not in the module")
        self._optimizer.add_param_group(param_group)
        self.param_groups = self._optimizer.param_groups

    def init_state(self) -> None:
        """Make the states, by a step with gradients of zeros."""
        for parameter in self.named_parameters.values():
            if parameter.requires_grad:
                parameter.grad = zeros_like(parameter)
        self.step()


def _together(names: Iterable[str]) -> str:
    """What a group of parameters is known by."""
    return "/".join(sorted(names))


def _take_state(own: dict[str, Any], given: dict[str, Any], name: str) -> None:
    if len(given) != len(own):
        raise ValueError(f"Expects equal length as {len(own)} for parameter {name} but found: {len(given)}")
    for key, value in own.items():
        if key not in given:
            raise ValueError(f"Expects state {key} for parameter {name} but not found.")
        if isinstance(value, Tensor):
            value.detach().copy_(given[key])
        else:
            own[key] = deepcopy(given[key])


def _take_options(own: dict[str, Any], given: dict[str, Any], key: str) -> None:
    if len(given) != len(own):
        raise ValueError(
            f"Expects equal param_group size as {len(own)} for group {key} but found {len(given)}."
        )
    for option, value in given.items():
        if option not in own:
            raise ValueError(
                f"Expects group key {option} to be in group {key} in `state_dict` but is missing."
            )
        if option != "params":
            own[option] = deepcopy(value)
