"""Policies of augmentation: AutoAugment, RandAugment, TrivialAugmentWide, AugMix (torchvision.transforms).

An operation is a name, a strength, perhaps with a sign; a policy draws which, in torchvision's order.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import rushlight as torch
from rushlight_vision.pillow import is_image
from rushlight_vision.transforms import functional as F, policies
from rushlight_vision.transforms.base import Transform
from rushlight_vision.transforms.conversion import InterpolationMode, get_dimensions, mode_of

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]


_OPERATIONS = policies.operations(F)


def _apply_op(img: Any, op_name: str, magnitude: float, interpolation: Any, fill: Any) -> Any:
    """The image after one operation; ValueError for an unknown one."""
    if op_name not in _OPERATIONS:
        raise ValueError(f"The provided operator {op_name} is not recognized.")
    return _OPERATIONS[op_name](img, magnitude, {"interpolation": interpolation, "fill": fill})


class AutoAugmentPolicy(Enum):
    """The data sets that AutoAugment's policies were learned on."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


def learned(policy: AutoAugmentPolicy) -> list[Any]:
    """A policy's pairs of (name, probability, place among ten strengths, or None); ValueError without one."""
    if not isinstance(policy, AutoAugmentPolicy):
        raise ValueError(f"The provided policy {policy} is not recognized.")
    found = []
    for line in (Path(__file__).parent / "policies.tsv").read_text(encoding="utf-8").splitlines():
        name, *words = line.split()
        if name == policy.value:
            pairs = (words[:3], words[3:])
            found.append(tuple((n, float(p), None if at == "-" else int(at)) for n, p, at in pairs))
    return found


class _Policy(Transform):
    """Operations by name, each with strengths from weak to strong (None: it has no strength)."""

    spelled = True

    def __init__(self, interpolation: Any, fill: Any) -> None:
        super().__init__()
        self.interpolation = mode_of(interpolation)
        self.fill = fill

    def _strengths(
        self, space: policies.Space, bins: int, image_size: tuple[int, int] = (0, 0)
    ) -> dict[str, tuple[torch.Tensor, bool]]:
        """Of each operation its strengths, and whether they may be negative; what has none has no dims."""
        found = {}
        for name, (magnitudes, signed) in space.items():
            values = magnitudes(bins, *image_size)
            found[name] = (torch.tensor(0.0) if values is None else values, signed)
        return {**found, "Solarize": (torch.linspace(255.0, 0.0, bins), False)}

    def _how(self, img: Any) -> dict[str, Any]:
        fill = self.fill
        if isinstance(img, torch.Tensor) and fill is not None:
            number = isinstance(fill, (int, float))
            fill = [float(fill)] * get_dimensions(img)[0] if number else [float(f) for f in fill]
        return {"interpolation": self.interpolation, "fill": fill}

    def _one(self, img: Any, table: dict[str, Any], place: Callable[[Any], Any], how: dict[str, Any]) -> Any:
        """An operation of the table that is drawn, of the strength at place(strengths)."""
        name = list(table)[int(torch.randint(len(table), (1,)).item())]
        strengths, signed = table[name]
        strength = float(strengths[place(strengths)].item()) if strengths.ndim > 0 else 0.0
        if signed and torch.randint(2, (1,)):
            strength *= -1.0
        return _apply_op(img, name, strength, **how)

    def forward(self, img: Any) -> Any:
        """The image transformed."""
        raise NotImplementedError


class AutoAugment(_Policy):
    """One of a policy's pairs of operations, each with its probability; the pairs are in policies.tsv."""

    shown = ("policy", "fill")

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.policy = policy
        self.policies = self._get_policies(policy)

    def _get_policies(self, policy: AutoAugmentPolicy) -> list[Any]:
        return learned(policy)

    def _augmentation_space(self, num_bins: int, image_size: tuple[int, int]) -> dict[str, Any]:
        """Of each operation (its strengths, whether they may be negative); image_size: (height, width)."""
        return self._strengths(policies.AUTO, num_bins, image_size)

    @staticmethod
    def get_params(transform_num: int) -> tuple[int, Any, Any]:
        """What is drawn: which pair, two probabilities, two signs."""
        return int(torch.randint(transform_num, (1,)).item()), torch.rand((2,)), torch.randint(2, (2,))

    def forward(self, img: Any) -> Any:
        """The image transformed."""
        how, (_, height, width) = self._how(img), get_dimensions(img)
        which, chances, signs = self.get_params(len(self.policies))
        table = self._augmentation_space(10, (height, width))
        for i, (name, p, place) in enumerate(self.policies[which]):
            if chances[i] <= p:
                strengths, signed = table[name]
                strength = 0.0 if place is None else float(strengths[place].item())
                negative = signed and signs[i] == 0
                img = _apply_op(img, name, -strength if negative else strength, **how)
        return img


class RandAugment(_Policy):
    """`num_ops` operations, all of the strength number `magnitude`."""

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins

    def _augmentation_space(self, num_bins: int, image_size: tuple[int, int]) -> dict[str, Any]:
        """Of each operation (its strengths, whether they may be negative); image_size: (height, width)."""
        return self._strengths(policies.RANDOM, num_bins, image_size)

    def forward(self, img: Any) -> Any:
        """The image transformed."""
        how, (_, height, width) = self._how(img), get_dimensions(img)
        table = self._augmentation_space(self.num_magnitude_bins, (height, width))
        for _ in range(self.num_ops):
            img = self._one(img, table, lambda _: self.magnitude, how)
        return img


class TrivialAugmentWide(_Policy):
    """One operation, of any strength."""

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.num_magnitude_bins = num_magnitude_bins

    def _augmentation_space(self, num_bins: int) -> dict[str, Any]:
        """Of each operation (its strengths, whether they may be negative)."""
        return self._strengths(policies.WIDE, num_bins)

    def forward(self, img: Any) -> Any:
        """The image transformed."""
        table = self._augmentation_space(self.num_magnitude_bins)
        return self._one(img, table, lambda s: torch.randint(len(s), (1,), dtype=torch.long), self._how(img))


class AugMix(_Policy):
    """The image mixed with `mixture_width` chains of operations, by weights of Dirichlet distributions."""

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: Any = InterpolationMode.BILINEAR,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation, fill)
        if not 1 <= severity <= 10:
            raise ValueError(f"The severity must be between [1, 10]. Got {severity} instead.")
        self.severity = severity
        self.mixture_width = mixture_width
        self.chain_depth = chain_depth
        self.alpha = alpha
        self.all_ops = all_ops

    def _augmentation_space(self, num_bins: int, image_size: tuple[int, int]) -> dict[str, Any]:
        """Of each operation (its strengths, whether they may be negative); image_size: (height, width)."""
        space = policies.MIXED if self.all_ops else policies.PARTLY_MIXED
        return self._strengths(space, num_bins, image_size)

    def forward(self, orig_img: Any) -> Any:
        """The image transformed."""
        how, (_, height, width) = self._how(orig_img), get_dimensions(orig_img)
        img = F.pil_to_tensor(orig_img) if is_image(orig_img) else orig_img
        table = self._augmentation_space(10, (height, width))
        batch = img.view([1] * max(4 - img.ndim, 0) + list(img.shape))
        sizes = [batch.size(0)] + [1] * (batch.ndim - 1)
        shares = torch._sample_dirichlet(
            torch.tensor([self.alpha] * 2, device=batch.device).expand(sizes[0], -1)
        )
        each = torch.tensor([self.alpha] * self.mixture_width, device=batch.device)
        weights = torch._sample_dirichlet(each.expand(sizes[0], -1))
        weights = weights * shares[:, 1].view([sizes[0], -1])
        mix = shares[:, 0].view(sizes) * batch
        for i in range(self.mixture_width):
            changed = batch
            depth = self.chain_depth
            if depth <= 0:
                depth = int(torch.randint(low=1, high=4, size=(1,)).item())
            for _ in range(depth):
                changed = self._one(changed, table, lambda _: torch.randint(self.severity, (1,)), how)
            mix.add_(weights[:, i].view(sizes) * changed)
        mix = mix.view(img.shape).to(dtype=img.dtype)
        return F.to_pil_image(mix) if is_image(orig_img) else mix
