"""torch._functorch.make_functional: modules as functions of their parameters and buffers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import rushlight as torch
from rushlight.func import functional_call
from rushlight.nn import Module

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functional_init",
    "functional_init_with_buffers",
    "make_functional",
    "make_functional_with_buffers",
]


def _taken(named: Any, untracked: bool) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Values outside the module and their names; leaves that are tracked as before unless `untracked`."""
    pairs = list(named)
    values = tuple(v.detach().clone().requires_grad_(v.requires_grad and not untracked) for _, v in pairs)
    return values, tuple(name for name, _ in pairs)


def _stateless(model: Module) -> Module:
    """A copy of the module whose parameters lie on the meta device."""
    made = copy.deepcopy(model)
    if not list(made.parameters()):
        return made
    moved: dict[int, Any] = {}  # what is tied stays so
    for module in made.modules():
        for table in (module._parameters, module._buffers):
            for name, value in table.items():
                if value is not None:
                    table[name] = moved.setdefault(id(value), _without_memory(value))
    made._held = moved  # numbers of objects that live are not given again
    return made


def _without_memory(value: Any) -> Any:
    empty = torch.empty_like(value, device="meta")
    return torch.nn.Parameter(empty, value.requires_grad) if isinstance(value, torch.nn.Parameter) else empty


class FunctionalModuleWithBuffers(Module):
    """A module without state: call it with its parameters, its buffers, and what the module takes."""

    def __init__(
        self,
        stateless_model: Module,
        param_names: tuple[str, ...],
        buffer_names: tuple[str, ...],
        param_names_map: Any = None,
        buffer_names_map: Any = None,
    ) -> None:
        super().__init__()
        self.stateless_model, self.param_names, self.buffer_names = stateless_model, param_names, buffer_names

    @staticmethod
    def _create_from(model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, Any, Any]:
        params, names = _taken(model.named_parameters(), disable_autograd_tracking)
        buffers, buffer_names = _taken(model.named_buffers(), disable_autograd_tracking)
        return FunctionalModuleWithBuffers(_stateless(model), names, buffer_names), params, buffers

    def forward(self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """The module's result with this state."""
        state = dict(zip(self.param_names, params, strict=True)) | dict(
            zip(self.buffer_names, buffers, strict=True)
        )
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(Module):
    """A module without buffers and without state: call it with its parameters and its arguments."""

    def __init__(self, stateless_model: Module, param_names: tuple[str, ...], names_map: Any = None) -> None:
        super().__init__()
        self.stateless_model, self.param_names = stateless_model, param_names

    @staticmethod
    def _create_from(model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, Any]:
        params, names = _taken(model.named_parameters(), disable_autograd_tracking)
        return FunctionalModule(_stateless(model), names), params

    def forward(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """The module's result with these parameters."""
        return functional_call(
            self.stateless_model, dict(zip(self.param_names, params, strict=True)), args, kwargs
        )


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, Any]:
    """(function of (params, *args), params) of a module without buffers; RuntimeError for others."""
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    return FunctionalModule._create_from(model, disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, Any, Any]:
    """(function of (params, buffers, *args), params, buffers) of a module."""
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[FunctionalModuleWithBuffers, Any, Any]:
    """The function of several models of one kind, and their parameters and buffers, stacked."""
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to have the same training/eval mode."
        )
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, params, buffers = zip(*[make_functional_with_buffers(m) for m in models], strict=True)

    def stacked(columns: Any) -> tuple[Any, ...]:
        return tuple(
            torch.stack(c).detach().requires_grad_(c[0].requires_grad) for c in zip(*columns, strict=True)
        )

    return functions[0], stacked(params), stacked(buffers)


def _of_tuple(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the module's arguments in one tuple behind the state."""
    return lambda *state: function(*state[:-1], *state[-1])


def functional_init(
    model_class: type, ensemble_shape: tuple[int, ...] = (), device: Any = None
) -> Callable[..., Any]:
    """A function of the class's arguments that gives (stacked parameters, function, names) of an ensemble."""

    def made(*args: Any, **kwargs: Any) -> Any:
        if len(ensemble_shape) >= 2:
            raise ValueError("NYI: ensemble_shape with more than 1 element")
        if not ensemble_shape:
            model = model_class(*args, **kwargs).to(device)
            function, weights = make_functional(model)
            return (weights, _of_tuple(function), [name for name, _ in model.named_parameters()])
        if ensemble_shape[0] <= 0:
            raise ValueError(f"num_models {ensemble_shape[0]} should be > 0")
        models = [model_class(*args, **kwargs).to(device) for _ in range(ensemble_shape[0])]
        functions, weights = zip(*[make_functional(m) for m in models], strict=True)
        names = [name for name, _ in models[0].named_parameters()]
        stacked = tuple(torch.stack(c).detach() for c in zip(*weights, strict=True))
        return stacked, _of_tuple(functions[0]), names

    return made


def functional_init_with_buffers(
    model_class: type, ensemble_shape: tuple[int, ...] = (), device: Any = None
) -> Callable[..., Any]:
    """functional_init of modules with buffers: (parameters, buffers, function, their names)."""

    def made(*args: Any, **kwargs: Any) -> Any:
        if len(ensemble_shape) != 1:
            raise ValueError("NYI: ensemble_shape with more than 1 element")
        models = [model_class(*args, **kwargs).to(device) for _ in range(ensemble_shape[0])]
        function, weights, buffers = combine_state_for_ensemble(models)
        return (
            tuple(w.detach() for w in weights),
            buffers,
            _of_tuple(function),
            [n for n, _ in models[0].named_parameters()],
            [n for n, _ in models[0].named_buffers()],
        )

    return made
