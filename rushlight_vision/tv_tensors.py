"""Tensors that say what they are (torchvision.tv_tensors): v2's transforms treat them accordingly."""

from __future__ import annotations

from enum import Enum
from typing import Any

import rushlight as torch
from rushlight_vision.pillow import is_image

_returned = {"tvtensor": False}  # whether results of ops keep the meaning


class _Restored:
    """Puts the former choice of set_return_type back at the end of a `with`."""

    def __init__(self, before: bool) -> None:
        self.before = before

    def __enter__(self) -> _Restored:
        return self

    def __exit__(self, *_: object) -> None:
        _returned["tvtensor"] = self.before


def set_return_type(return_type: str) -> _Restored:
    """Whether ops on these tensors give "Tensor" (the default) or "TVTensor", for good or within a `with`."""
    kinds = {"tensor": False, "tvtensor": True}
    if return_type.lower() not in kinds:
        raise ValueError(f"return_type must be 'TVTensor' or 'Tensor', got {return_type}")
    before = _returned["tvtensor"]
    _returned["tvtensor"] = kinds[return_type.lower()]
    return _Restored(before)


class TVTensor(torch.Tensor):
    """A tensor with a meaning. Results of ops are plain tensors; `wrap` gives them the meaning back."""

    _said: tuple[str, ...] = ()  # what is noted beside the numbers
    _shown = True  # whether that is in the repr

    def __new__(
        cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None
    ) -> Any:
        """From a tensor, an image of Pillow where that makes sense, or what as_tensor takes."""
        return cls._to_tensor(data, dtype, device, requires_grad).as_subclass(cls)

    @staticmethod
    def _to_tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: Any = None) -> Any:
        if requires_grad is None:
            requires_grad = data.requires_grad if isinstance(data, torch.Tensor) else False
        return torch.as_tensor(data, dtype=dtype, device=device).requires_grad_(requires_grad)

    @classmethod
    def wrap(cls, tensor: Any, like: Any, **kwargs: Any) -> Any:
        """The tensor with what `like` notes, or what is given instead."""
        found = tensor.as_subclass(cls)
        for name in cls._said:
            setattr(found, name, kwargs.get(name, getattr(like, name)))
        return found

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = super().__torch_function__(func, types, args, kwargs)
        name = getattr(func, "__name__", "")
        kept = name in ("clone", "to", "detach", "requires_grad_", "pin_memory") and isinstance(args[0], cls)
        if not kept and not _returned["tvtensor"]:
            return _plain(found)
        like = args[0] if kept else _first(cls, [args, list((kwargs or {}).values())])
        return found if like is None else _like(found, like)

    def _make_repr(self, **kwargs: Any) -> str:
        said = ", ".join(f"{name}={value}" for name, value in kwargs.items())
        return f"{super().__repr__()[:-1]}, {said})"

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        if not self._shown:
            return super().__repr__()
        return self._make_repr(**{name: getattr(self, name) for name in self._said})

    def __deepcopy__(self, memo: Any) -> Any:
        return self.detach().clone().requires_grad_(self.requires_grad)


def _first(cls: type, held: Any) -> Any:
    """The first tensor of a class in nested arguments."""
    for value in held:
        if isinstance(value, cls):
            return value
        found = _first(cls, value) if isinstance(value, (list, tuple)) else None
        if found is not None:
            return found
    return None


def _plain(found: Any) -> Any:
    """What an op gave, its tensors without a meaning."""
    if isinstance(found, TVTensor):
        return found.as_subclass(torch.Tensor)
    several = type(found) in (list, tuple) and any(isinstance(part, TVTensor) for part in found)
    return type(found)(map(_plain, found)) if several else found


def _like(found: Any, like: Any) -> Any:
    """What an op gave, its tensors with the meaning of another."""
    if isinstance(found, torch.Tensor):
        return type(like).wrap(found, like)
    if isinstance(found, (list, tuple)):
        return type(found)(_like(part, like) for part in found)
    return found


def _pixels(data: Any) -> Any:
    if not is_image(data):
        return data
    from rushlight_vision.transforms.conversion import pil_to_tensor

    return pil_to_tensor(data)


class Image(TVTensor):
    """(..., C, H, W); an (H, W) tensor becomes (1, H, W)."""

    def __new__(
        cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None
    ) -> Any:
        """Also from an image of Pillow."""
        tensor = cls._to_tensor(_pixels(data), dtype, device, requires_grad)
        if tensor.ndim < 2:
            raise ValueError(f"Tensor must be 2D or higher, got {tensor.ndim}D tensor.")
        return (tensor.unsqueeze(0) if tensor.ndim == 2 else tensor).as_subclass(cls)


class Video(TVTensor):
    """(..., T, C, H, W)."""

    def __new__(
        cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None
    ) -> Any:
        """ValueError for fewer than four dims."""
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        if tensor.ndim < 4:
            raise ValueError(f"Tensor must be 4D or higher (..., T, C, H, W), got {tensor.ndim}D tensor.")
        return tensor.as_subclass(cls)


class Mask(TVTensor):
    """(..., H, W): follows the image's geometry by its nearest pixels, and keeps its values."""

    _shown = False

    def __new__(
        cls, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool | None = None
    ) -> Any:
        """Also from an image of Pillow."""
        return cls._to_tensor(_pixels(data), dtype, device, requires_grad).as_subclass(cls)


class BoundingBoxFormat(Enum):
    """How a box is written: X and Y a corner, CX and CY the middle, W and H sizes, R an angle in degrees,
    counter-clockwise; XYXYXYXY the four corners, clockwise from the top left.
    """

    XYXY = "XYXY"
    XYWH = "XYWH"
    CXCYWH = "CXCYWH"
    XYWHR = "XYWHR"
    CXCYWHR = "CXCYWHR"
    XYXYXYXY = "XYXYXYXY"


def is_rotated_bounding_format(format: BoundingBoxFormat | str) -> bool:
    """Whether boxes of a format may be turned."""
    if not isinstance(format, (BoundingBoxFormat, str)):
        raise ValueError(f"format should be str or BoundingBoxFormat, got {type(format)}")
    name = format if isinstance(format, str) else format.value
    return name in ("XYWHR", "CXCYWHR", "XYXYXYXY")


class BoundingBoxes(TVTensor):
    """(N, 4), (N, 5) or (N, 8), as the format says, on a canvas of (height, width).

    clamping_mode: whether and how transforms keep rotated boxes on the canvas ("soft", "hard" or None).
    """

    format: BoundingBoxFormat
    canvas_size: tuple[int, int]
    clamping_mode: str | None
    _said = ("format", "canvas_size", "clamping_mode")

    def __new__(
        cls,
        data: Any,
        *,
        format: BoundingBoxFormat | str,
        canvas_size: tuple[int, int],
        clamping_mode: str | None = "soft",
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        """One box (4,) becomes (1, 4); ValueError for more dims, or for rotated boxes of integers."""
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        if not tensor.is_floating_point() and is_rotated_bounding_format(format):
            raise ValueError(f"Rotated bounding boxes should be floating point tensors, got {tensor.dtype}.")
        if tensor.ndim not in (1, 2):
            raise ValueError(f"Expected a 1D or 2D tensor, got {tensor.ndim}D")
        if clamping_mode not in (None, "hard", "soft"):
            raise ValueError(f"clamping_mode must be None, hard or soft, got {clamping_mode}.")
        found = (tensor.unsqueeze(0) if tensor.ndim == 1 else tensor).as_subclass(cls)
        found.format = BoundingBoxFormat[format.upper()] if isinstance(format, str) else format
        found.canvas_size, found.clamping_mode = canvas_size, clamping_mode
        return found


class KeyPoints(TVTensor):
    """(..., 2): x and y of points on a canvas of (height, width)."""

    canvas_size: tuple[int, int]
    _said = ("canvas_size",)

    def __new__(
        cls,
        data: Any,
        *,
        canvas_size: tuple[int, int],
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        """One point (2,) becomes (1, 2); ValueError where the last dim is not 2."""
        tensor = cls._to_tensor(data, dtype, device, requires_grad)
        if tensor.ndim == 1:
            tensor = tensor.unsqueeze(0)
        elif tensor.shape[-1] != 2:
            raise ValueError(f"Expected a tensor of shape (..., 2), not {tensor.shape}")
        found = tensor.as_subclass(cls)
        found.canvas_size = canvas_size
        return found


def wrap(wrappee: Any, *, like: Any, **kwargs: Any) -> Any:
    """The tensor with the meaning of another; keywords say what is noted otherwise (canvas_size=...)."""
    wrapping = getattr(type(like), "wrap", None)
    return wrappee.as_subclass(type(like)) if wrapping is None else wrapping(wrappee, like, **kwargs)


__all__ = [
    "BoundingBoxFormat",
    "BoundingBoxes",
    "Image",
    "KeyPoints",
    "Mask",
    "TVTensor",
    "Video",
    "is_rotated_bounding_format",
    "set_return_type",
    "wrap",
]
