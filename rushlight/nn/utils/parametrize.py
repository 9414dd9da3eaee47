"""Parametrizations: a parameter computed, whenever it is read, from one that is trained.

register_parametrization replaces the parameter by a property of a class made for the module; what
is trained is `module.parametrizations.NAME.original` (or original0, original1, ...).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import rushlight as torch
from rushlight.nn.modules.container import ModuleDict, ModuleList
from rushlight.nn.parameter import Parameter

_cache_enabled = 0
_cache: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once inside this block."""
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register_parameter_or_buffer(module: Any, name: str, value: Any) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def _take(dest: Any, src: Any) -> None:
    """Give `dest` (which optimizers may hold) the data of `src`."""
    if dest is not src:
        dest.data = src.detach()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, and the original(s) they start from."""

    def __init__(self, modules: Sequence[Any], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with torch.no_grad():
            new = self._inverted(original, optional=True)
        self.is_tensor = isinstance(new, torch.Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            if original.dtype != new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the "
                    f"dtype.\noriginal.dtype: {original.dtype}\n"
                    f"right_inverse(original).dtype: {new.dtype}"
                )
            with torch.no_grad():
                _take(original, new)
            _register_parameter_or_buffer(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, torch.Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                        f"Got element {i} of the sequence with type {type(part).__name__}."
                    )
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                part.requires_grad_(original.requires_grad)
                _register_parameter_or_buffer(self, f"original{i}", part)
        if not unsafe:
            _check_kept(self(), shape, dtype, "unparametrized {}", "parametrized {}")

    def _inverted(self, value: Any, optional: bool) -> Any:
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                try:
                    value = module.right_inverse(value)
                except NotImplementedError:
                    if not optional:
                        raise
            elif not optional:
                raise RuntimeError(
                    f"parametrization {type(module).__name__} does not implement right_inverse."
                )
        if not isinstance(value, (torch.Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                f"tuple...). Got {type(value).__name__}"
            )
        return value

    def originals(self) -> list[Any]:
        """What is trained."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that the parametrized tensor becomes `value`."""
        with torch.no_grad():
            new = self._inverted(value, optional=False)
            parts = [new] if self.is_tensor else list(new)
            if len(parts) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got a sequence of length {len(parts)}."
                )
            for original, part in zip(self.originals(), parts):
                if original.dtype != part.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {part.dtype} "
                        f"while the original has dtype {original.dtype}"
                    )
                _take(original, part)

    def forward(self) -> Any:
        """The parametrized tensor. RuntimeError in scripts, which compile it and no further."""
        if torch.jit.is_scripting():
            raise RuntimeError("Parametrization is not working with scripting.")
        first, *rest = self
        value = first(*self.originals())
        for module in rest:
            value = module(value)
        return value


def _inject_new_class(module: Any) -> None:
    """Give a module a class of its own, that properties can be put on."""
    cls = module.__class__

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = self.__new__(self.__class__)
            found.__dict__ = copy.deepcopy(self.__dict__, memo)
        return found

    def __getstate__(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). "
            "Save state_dict(), and register the parametrizations again before loading it."
        )

    body: dict[str, Any] = {"__getstate__": __getstate__}
    if "__deepcopy__" not in vars(cls):
        body["__deepcopy__"] = __deepcopy__
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), body)


def _inject_property(module: Any, name: str) -> None:
    if hasattr(module, name):
        raise AssertionError(f"the module still has an attribute {name!r}")

    def compute(self: Any) -> Any:
        try:
            return self.parametrizations[name]()
        except AttributeError as error:
            # As it is, Python would take it for a missing attribute of the module.
            raise RuntimeError(f"the parametrization of '{name}' failed: {error}") from error

    def read(self: Any) -> torch.Tensor:  # scripts take the type from here
        if torch.jit.is_scripting():
            raise RuntimeError("Parametrization is not working with scripting.")
        key = (id(self), name)
        if not _cache_enabled:
            value: torch.Tensor = compute(self)
        elif torch.jit.is_tracing():
            raise RuntimeError("Cannot trace a model while caching the parametrizations.")
        elif key in _cache:
            value = _cache[key]
        else:
            value = _cache[key] = compute(self)
        return value

    def write(self: Any, value: torch.Tensor) -> None:
        if torch.jit.is_scripting():
            raise RuntimeError("Parametrization is not working with scripting.")
        self.parametrizations[name].right_inverse(value)

    setattr(module.__class__, name, property(read, write))


def register_parametrization(
    module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False
) -> Any:
    """Compute a parameter or buffer by `parametrization(original)` from now on.

    The parametrization is a Module; its `right_inverse(value)`, if any, gives the original. It may
    not change shape or dtype (ValueError) unless `unsafe`. Further ones are applied after it.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            value = getattr(module, tensor_name)
            result = parametrization(value)
            _check_kept(result, value.shape, value.dtype, "module {}", "parametrization(module) {}")
            if hasattr(parametrization, "right_inverse"):
                with suppress(NotImplementedError):
                    _check_inverse(parametrization.right_inverse(result), value, tensor_name)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        chain = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = chain
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized "
            f"element with name '{tensor_name}'"
        )
    return module


def _check_kept(result: Any, shape: Any, dtype: Any, before: str, after: str) -> None:
    """ValueError where a parametrization gave another shape or dtype; how to call the two."""
    if not isinstance(result, torch.Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    for what, got, expected in (("dtype", result.dtype, dtype), ("shape", result.shape, shape)):
        if got != expected:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` "
                f"flag is enabled.\n{before.format(what)}: {expected}\n{after.format(what)}: {got}"
            )


def _check_inverse(found: Any, value: Any, name: str) -> None:
    """ValueError where a further parametrization's right_inverse gives another shape or dtype."""
    if not isinstance(found, torch.Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(found).__name__}")
    for what, got, expected in (("dtype", found.dtype, value.dtype), ("shape", found.shape, value.shape)):
        if got != expected:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as "
                f"module.{name}, unless the `unsafe` flag is enabled.\nmodule.{name}.{what}: {expected}\n"
                f"returned {what}: {got}"
            )


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether the module, or one tensor of it, has parametrizations."""
    chains = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(chains, ModuleDict):
        return False
    return len(chains) > 0 if tensor_name is None else tensor_name in chains


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make a parametrized tensor a plain one: its present value, or the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    chain = module.parametrizations[tensor_name]
    if not leave_parametrized and not chain.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    original = chain.originals()[0]
    if leave_parametrized:
        with torch.no_grad():
            value = getattr(module, tensor_name)
        if chain.is_tensor:
            _take(original, value)
        else:
            original = (
                Parameter(value.detach(), original.requires_grad)
                if isinstance(original, Parameter)
                else value.detach()
            )
    delattr(module.__class__, tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = module.__class__.__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type:
    """The module's class as it was before register_parametrization."""
    return module.__class__.__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Any, to_module: Any, tensor_name: str | None = None
) -> Any:
    """Give `to_module` the parametrizations, and the trained tensors, of `from_module`."""
    if not is_parametrized(from_module):
        return to_module
    names = [tensor_name] if tensor_name is not None else list(from_module.parametrizations)
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, copy.deepcopy(getattr(from_module, name)))
        for parametrization in from_module.parametrizations[name]:
            register_parametrization(to_module, name, parametrization)
        old, new = (m.parametrizations[name].originals() for m in (from_module, to_module))
        for source, target in zip(old, new):
            target.data = source.detach().clone()
    return to_module


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]
