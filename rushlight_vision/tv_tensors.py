"""Tensors that say what they are (torchvision.tv_tensors): v2's transforms treat them accordingly."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight_vision.pillow import is_image


class TVTensor(torch.Tensor):
    """A tensor with a meaning. Results of ops are plain tensors; `wrap` gives them the meaning back."""

    least = 0  # dims; missing ones are added in front

    def __new__(cls, data: Any, *, dtype: Any = None, requires_grad: bool | None = None) -> Any:
        """From a tensor, a picture of PIL, or what as_tensor takes; missing dims are added in front."""
        if is_image(data):
            from rushlight_vision.transforms.conversion import pil_to_tensor

            data = pil_to_tensor(data)
        tensor = torch.as_tensor(data, dtype=dtype)
        tensor = tensor[(None,) * (cls.least - tensor.ndim)].as_subclass(cls)
        return tensor if requires_grad is None else tensor.requires_grad_(requires_grad)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = super().__torch_function__(func, types, args, kwargs)
        keeps = getattr(func, "__name__", "") in ("clone", "to", "detach", "requires_grad_")
        return found if keeps or not isinstance(found, TVTensor) else found.as_subclass(torch.Tensor)


class Image(TVTensor):
    """(..., C, H, W); an (H, W) tensor becomes (1, H, W)."""

    least = 3


class Mask(TVTensor):
    """(..., H, W): follows the image's geometry by its nearest pixels, and keeps its values."""


def wrap(wrappee: Any, *, like: Any) -> Any:
    """The tensor with the meaning of another."""
    return wrappee.as_subclass(type(like))


__all__ = ["Image", "Mask", "TVTensor", "wrap"]
