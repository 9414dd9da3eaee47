"""What all transforms of samples have in common."""

from __future__ import annotations

import enum
from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight._engine.core.pytree import flatten
from rushlight_vision import tv_tensors
from rushlight_vision.pillow import is_image
from rushlight_vision.transforms.conversion import InterpolationMode
from rushlight_vision.transforms.v2._utils import check_type, has_any
from rushlight_vision.transforms.v2.functional._utils import _get_kernel, is_pure_tensor


class Transform(nn.Module):
    """The base for transforms of samples: a subclass has `transform(inpt, params)`, maybe `make_params`.

    A sample is any nest of dicts, lists and tuples. PIL images, tv_tensors and the first plain tensor of a
    sample without images are transformed; all else stays as it is.
    """

    _transformed_types: tuple[Any, ...] = (torch.Tensor, is_image)
    # The transform of single images that does the same: it is what torch.jit.script compiles.
    _v1_transform_cls: type[nn.Module] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        drawn = getattr(cls._v1_transform_cls, "get_params", None)
        if drawn is not None:
            cls.get_params = staticmethod(drawn)  # type: ignore[attr-defined]

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        """The public options of this transform: arguments for the one of single images."""
        of_all = nn.Module().__dict__.keys()
        options = {k: v for k, v in self.__dict__.items() if not k.startswith("_") and k not in of_all}
        if isinstance(options.get("interpolation"), str):
            options["interpolation"] = InterpolationMode(options["interpolation"])
        return options

    def __prepare_scriptable__(self) -> nn.Module:
        """What torch.jit.script compiles in this one's place; RuntimeError without a transform of images."""
        if self._v1_transform_cls is None:
            raise RuntimeError(
                f"Transform {type(self).__name__} cannot be JIT scripted. torchscript is only supported for "
                "backward compatibility with transforms which are already in torchvision.transforms. For "
                "torchscript support (on tensors only), you can use the functional API instead."
            )
        return self._v1_transform_cls(**self._extract_params_for_v1_transform())

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise an error for samples that cannot be transformed."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """What is drawn once for a sample."""
        return {}

    def _call_kernel(self, functional: Any, inpt: Any, *args: Any, **kwargs: Any) -> Any:
        """The function by the kernel for what it is given; what has none stays as it is."""
        return _get_kernel(functional, type(inpt), allow_passthrough=True)(inpt, *args, **kwargs)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """One image, mask or the like, transformed."""
        raise NotImplementedError(f"{type(self).__name__}: expected a method transform(inpt, params)")

    def _meant(self, flat_inputs: list[Any]) -> bool:
        """Whether this sample is transformed at all."""
        return True

    def forward(self, *inputs: Any) -> Any:
        """The sample, of one or more nests, transformed."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat, nest = flatten(sample)
        flat = list(flat)
        self.check_inputs(flat)
        if not self._meant(flat):
            return sample
        taken = self._needs_transform_list(flat)
        params = self.make_params([x for x, take in zip(flat, taken) if take])
        return nest.unflatten(self.transform(x, params) if take else x for x, take in zip(flat, taken))

    def _needs_transform_list(self, flat_inputs: list[Any]) -> list[bool]:
        plain_counts = not has_any(flat_inputs, tv_tensors.Image, tv_tensors.Video, is_image)
        taken = []
        for inpt in flat_inputs:
            takes = check_type(inpt, self._transformed_types)
            if takes and is_pure_tensor(inpt):
                takes, plain_counts = plain_counts, False
            taken.append(takes)
        return taken

    def extra_repr(self) -> str:
        """The options that are numbers, texts or sequences."""
        shown = (bool, int, float, str, tuple, list, enum.Enum)
        options = {k: v for k, v in self.__dict__.items() if not k.startswith("_") and k != "training"}
        return ", ".join(f"{name}={value}" for name, value in options.items() if isinstance(value, shown))


class _RandomApplyTransform(Transform):
    """Transforms a sample with probability p."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        super().__init__()
        self.p = p

    def _meant(self, flat_inputs: list[Any]) -> bool:
        return not bool(torch.rand(1) >= self.p)
