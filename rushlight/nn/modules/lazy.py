"""Modules whose parameters get their shapes at the first call."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.nn.parameter import UninitializedParameter, is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Put before a Module class: `class LazyLinear(LazyModuleMixin, Linear)`.

    The class has `initialize_parameters(*args)`, called with the first call's arguments, and
    `cls_to_become`, which the instance then turns into.
    """

    cls_to_become: Any = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _own(self: Any) -> list[tuple[str, Any]]:
        tables = (self._parameters, self._buffers)
        return [pair for table in tables for pair in table.items() if pair[1] is not None]

    def _lazy_load_hook(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        """Before a load: take the shapes of the tensors that come."""
        for name, value in self._own():
            given = state_dict.get(prefix + name)
            if given is not None and is_lazy(value) and not is_lazy(given):
                with torch.no_grad():
                    value.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes, from the first call's arguments."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {self.__class__.__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(value) for _, value in self._own())

    def _infer_parameters(self: Any, module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a "
            "dummy forward pass to correctly initialize the modules"
        )


class LazyLayer(LazyModuleMixin):
    """The lazy form of a layer with a weight and a bias: one argument is 0 until the first input tells it.

    Subclasses have `_find(input)`, what it is then, and `_shapes()`, those of parameters and buffers by name.
    """

    _finds: str  # the argument's name
    weight: Any  # as the layer's own, once it has a shape
    bias: Any

    def _unsized(self, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def _find(self, input: Any) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not say where it finds {self._finds}")

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        raise NotImplementedError(f"{type(self).__name__} does not say which shapes its parameters have")

    def reset_parameters(self) -> None:
        """Draw the weights, once there are any: before the first input it does nothing."""
        if not self.has_uninitialized_params() and getattr(self, self._finds) != 0:
            getattr(super(), "reset_parameters")()

    def initialize_parameters(self, input: Any, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes, from the first input."""
        if self.has_uninitialized_params():
            setattr(self, self._finds, self._find(input))
            for name, shape in self._shapes().items():
                if getattr(self, name) is not None:
                    getattr(self, name).materialize(shape)
            self.reset_parameters()
