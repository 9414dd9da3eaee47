"""Functions that choose a kernel by what they are given: an image of Pillow, a tensor, a tv_tensor."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import rushlight as torch
from rushlight_vision import tv_tensors
from rushlight_vision.pillow import is_image
from rushlight_vision.tv_tensors import TVTensor

Kernel = Callable[..., Any]
_KERNEL_REGISTRY: dict[Kernel, dict[Any, Kernel]] = {}
PIL = "PIL.Image.Image"  # stands for that class, which is not imported before an image is there
_BUILT_IN = (
    tv_tensors.Image,
    tv_tensors.Video,
    tv_tensors.Mask,
    tv_tensors.BoundingBoxes,
    tv_tensors.KeyPoints,
    TVTensor,
)


def is_pure_tensor(inpt: Any) -> bool:
    """Whether it is a tensor without a meaning."""
    return isinstance(inpt, torch.Tensor) and not isinstance(inpt, TVTensor)


def _dispatched(function: Kernel) -> Kernel:
    """A function (inpt, ...) that calls the kernel for inpt's type, with all arguments by name."""
    signature = inspect.signature(function)
    names = list(signature.parameters)
    defaults = {
        name: p.default
        for name, p in signature.parameters.items()
        if p.default is not inspect.Parameter.empty
    }

    event = f"{function.__module__}.{function.__name__}"

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        torch._C._log_api_usage_once(event)
        given = {**defaults, **dict(zip(names, args)), **kwargs}
        if given.keys() != signature.parameters.keys() or len(args) > len(names):
            function(*args, **kwargs)  # says which are missing or too many
        inpt = given.pop(names[0])
        return _get_kernel(call, type(inpt))(inpt, **given)

    _KERNEL_REGISTRY[call] = {}
    setattr(call, "__prepare_scriptable__", lambda: _get_kernel(call, torch.Tensor))  # scripts have tensors
    return call


def _kept(kernel: Kernel) -> Kernel:
    """The kernel on the plain tensor; what it gives (also a tuple of such) means what the input did."""

    @functools.wraps(kernel)
    def call(inpt: Any, *args: Any, **kwargs: Any) -> Any:
        found = kernel(inpt.as_subclass(torch.Tensor), *args, **kwargs)
        if isinstance(found, tuple):
            return tuple(tv_tensors.wrap(part, like=inpt) for part in found)
        return tv_tensors.wrap(found, like=inpt)

    return call


def _register_kernel_internal(
    functional: Kernel, input_type: Any, *, tv_tensor_wrapper: bool = True
) -> Callable[[Kernel], Kernel]:
    registry = _KERNEL_REGISTRY.setdefault(functional, {})
    key = PIL if getattr(input_type, "__module__", "") == "PIL.Image" else input_type
    if key in registry:
        raise ValueError(f"Functional {functional} already has a kernel registered for type {input_type}.")

    def decorate(kernel: Kernel) -> Kernel:
        meant = isinstance(key, type) and issubclass(key, TVTensor) and tv_tensor_wrapper
        registry[key] = _kept(kernel) if meant else kernel
        return kernel

    return decorate


def _images(functional: Kernel, pil: Kernel | None = None) -> Callable[[Kernel], Kernel]:
    """Registers a kernel for plain tensors, images and videos, and another for Pillow's images."""

    def decorate(kernel: Kernel) -> Kernel:
        for kind in (torch.Tensor, tv_tensors.Image, tv_tensors.Video):
            _register_kernel_internal(functional, kind)(kernel)
        if pil is not None:
            _register_kernel_internal(functional, PIL)(pil)
        return kernel

    return decorate


def register_kernel(functional: Any, tv_tensor_cls: Any) -> Callable[[Kernel], Kernel]:
    """Decorator: a kernel(inpt, **arguments) of a function (or its name) for one's own tv_tensor class."""
    if isinstance(functional, str):
        from rushlight_vision.transforms.v2 import functional as known

        if not hasattr(known, functional):
            raise ValueError(
                f"Could not find functional with name '{functional}' in torchvision.transforms.v2.functional."
            )
        functional = getattr(known, functional)
    elif functional not in _KERNEL_REGISTRY:
        raise ValueError(
            "Kernels can only be registered on functionals from the torchvision.transforms.v2.functional "
            f"namespace, but got {functional}."
        )
    if not (isinstance(tv_tensor_cls, type) and issubclass(tv_tensor_cls, TVTensor)):
        raise ValueError(
            "Kernels can only be registered for subclasses of torchvision.tv_tensors.TVTensor, "
            f"but got {tv_tensor_cls}."
        )
    if tv_tensor_cls in _BUILT_IN:
        raise ValueError(
            f"Kernels cannot be registered for the builtin tv_tensor classes, but got {tv_tensor_cls}"
        )
    return _register_kernel_internal(functional, tv_tensor_cls, tv_tensor_wrapper=False)


def _unchanged(inpt: Any, *args: Any, **kwargs: Any) -> Any:
    return inpt


def _get_kernel(functional: Kernel, input_type: Any, *, allow_passthrough: bool = False) -> Kernel:
    """The kernel for a type or the nearest of its bases; TypeError without one, or what changes nothing."""
    registry = _KERNEL_REGISTRY.get(functional)
    if not registry:
        raise ValueError(f"No kernel registered for functional {functional.__name__}.")
    for cls in input_type.__mro__:
        key = PIL if cls.__module__ == "PIL.Image" and cls.__name__ == "Image" else cls
        if key in registry:
            return registry[key]
        if cls is TVTensor:
            break
    if allow_passthrough:
        return _unchanged
    raise TypeError(
        f"Functional F.{functional.__name__} supports inputs of type {registry.keys()}, "
        f"but got {input_type} instead."
    )


def _on_mask(kernel: Kernel) -> Kernel:
    """An image's kernel for masks (..., H, W): those of two dims get a channel for the while."""

    @functools.wraps(kernel)
    def call(mask: Any, *args: Any, **kwargs: Any) -> Any:
        found = kernel(mask if mask.ndim > 2 else mask.unsqueeze(0), *args, **kwargs)
        return found if mask.ndim > 2 else found.squeeze(0)

    return call


__all__ = ["is_image", "is_pure_tensor", "register_kernel"]
