"""Policies of augmentation: AutoAugment, RandAugment, TrivialAugmentWide, AugMix (torchvision.transforms).

An operation is a name, a strength, perhaps with a sign; a policy draws which, in torchvision's order.
"""

from __future__ import annotations

import math
from enum import Enum
from pathlib import Path
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.base import Transform
from rushlight_vision.transforms.conversion import InterpolationMode, get_dimensions, mode_of

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]


def _moved(img: Tensor, op_name: str, by: float, how: InterpolationMode, fill: list[float] | None) -> Tensor:
    if op_name == "ShearX":
        return F.affine(img, 0.0, [0, 0], 1.0, [math.degrees(math.atan(by)), 0.0], how, fill, [0, 0])
    if op_name == "ShearY":
        return F.affine(img, 0.0, [0, 0], 1.0, [0.0, math.degrees(math.atan(by))], how, fill, [0, 0])
    if op_name == "TranslateX":
        return F.affine(img, 0.0, [int(by), 0], 1.0, [0.0, 0.0], how, fill)
    if op_name == "TranslateY":
        return F.affine(img, 0.0, [0, int(by)], 1.0, [0.0, 0.0], how, fill)
    return F.rotate(img, by, how, fill=fill)


def _recoloured(img: Tensor, op_name: str, factor: float) -> Tensor:
    if op_name == "Brightness":
        return F.adjust_brightness(img, factor)
    if op_name == "Color":
        return F.adjust_saturation(img, factor)
    if op_name == "Contrast":
        return F.adjust_contrast(img, factor)
    return F.adjust_sharpness(img, factor)


def _apply_op(
    img: Tensor, op_name: str, magnitude: float, interpolation: InterpolationMode, fill: list[float] | None
) -> Tensor:
    """The image after one operation; ValueError for an unknown one. Solarize's magnitude is the threshold."""
    if op_name in ["ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate"]:
        return _moved(img, op_name, magnitude, interpolation, fill)
    if op_name in ["Brightness", "Color", "Contrast", "Sharpness"]:
        return _recoloured(img, op_name, 1.0 + magnitude)
    if op_name == "Posterize":
        return F.posterize(img, int(magnitude))
    if op_name == "Solarize":
        return F.solarize(img, magnitude)
    if op_name == "AutoContrast":
        return F.autocontrast(img)
    if op_name == "Equalize":
        return F.equalize(img)
    if op_name == "Invert":
        return F.invert(img)
    if op_name != "Identity":
        raise ValueError(f"The provided operator {op_name} is not recognized.")
    return img


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


_GEOMETRY = ["ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate"]
_COLOURS = ["Brightness", "Color", "Contrast", "Sharpness"]
_TONES = ["Posterize", "Solarize", "AutoContrast", "Equalize"]


class _Policy(Transform):
    """Operations by name, each with strengths from weak to strong (no dims: it has no strength)."""

    spelled = True

    def __init__(self, interpolation: Any, fill: Any, operations: list[str]) -> None:
        super().__init__()
        self.interpolation = mode_of(interpolation)
        self.fill = fill
        self._operations = operations

    def _strengths(
        self,
        bins: int,
        shear: float,
        across: float,
        down: float,
        degrees: float,
        colours: float,
        bits: Tensor,
    ) -> dict[str, tuple[Tensor, bool]]:
        """Of each operation its strengths, and whether they may be negative, by the greatest of each kind."""
        found: dict[str, tuple[Tensor, bool]] = {}
        for name in self._operations:
            if name in ["ShearX", "ShearY"]:
                found[name] = (torch.linspace(0.0, shear, bins), True)
            elif name == "TranslateX":
                found[name] = (torch.linspace(0.0, across, bins), True)
            elif name == "TranslateY":
                found[name] = (torch.linspace(0.0, down, bins), True)
            elif name == "Rotate":
                found[name] = (torch.linspace(0.0, degrees, bins), True)
            elif name in ["Brightness", "Color", "Contrast", "Sharpness"]:
                found[name] = (torch.linspace(0.0, colours, bins), True)
            elif name == "Posterize":
                found[name] = (bits, False)
            elif name == "Solarize":
                found[name] = (torch.linspace(255.0, 0.0, bins), False)
            else:
                found[name] = (torch.tensor(0.0), False)
        return found

    def _fill_for(self, img: Tensor) -> list[float] | None:
        """The fill as functions of tensors take it, or Pillow."""
        fill = self.fill
        if fill is None or not isinstance(img, Tensor):
            return fill
        if isinstance(fill, (int, float)):
            return [float(fill)] * get_dimensions(img)[0]
        return [float(f) for f in fill]

    def _place(self, strengths: Tensor) -> int:
        raise NotImplementedError("this policy does not say which strength an operation has")

    def _one(self, img: Tensor, table: dict[str, tuple[Tensor, bool]], fill: list[float] | None) -> Tensor:
        """An operation of the table that is drawn, of the strength at the place that the policy says."""
        name = list(table.keys())[int(torch.randint(len(table), (1,)).item())]
        strengths, signed = table[name]
        strength = float(strengths[self._place(strengths)].item()) if strengths.ndim > 0 else 0.0
        if signed and torch.randint(2, (1,)):
            strength *= -1.0
        return _apply_op(img, name, strength, self.interpolation, fill)


def _fewer_bits(kept: int, fewer: int, bins: int) -> Tensor:
    """The numbers of bits from `kept` down by `fewer`."""
    return (kept - torch.arange(bins) / ((bins - 1) / fewer)).round().int()


class _Learned(_Policy):
    """Of the strengths that AutoAugment's policies were learned with."""

    def _augmentation_space(
        self, num_bins: int, image_size: tuple[int, int]
    ) -> dict[str, tuple[Tensor, bool]]:
        """Of each operation (its strengths, whether they may be negative); image_size: (height, width)."""
        height, width = image_size
        shift = 150.0 / 331.0
        bits = _fewer_bits(8, 4, num_bins)
        return self._strengths(num_bins, 0.3, shift * width, shift * height, 30.0, 0.9, bits)


class AutoAugment(_Learned):
    """One of a policy's pairs of operations, each with its probability; the pairs are in policies.tsv."""

    shown = ("policy", "fill")

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation, fill, [*_GEOMETRY, *_COLOURS, *_TONES, "Invert"])
        self.policy = policy
        self.policies = self._get_policies(policy)

    def _get_policies(self, policy: AutoAugmentPolicy) -> list[Any]:
        return learned(policy)

    @staticmethod
    def get_params(transform_num: int) -> tuple[int, Tensor, Tensor]:
        """What is drawn: which pair, two probabilities, two signs."""
        return int(torch.randint(transform_num, (1,)).item()), torch.rand((2,)), torch.randint(2, (2,))

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        fill = self._fill_for(img)
        _, height, width = get_dimensions(img)
        which, chances, signs = self.get_params(len(self.policies))
        table = self._augmentation_space(10, (height, width))
        for i, (name, p, place) in enumerate(self.policies[which]):
            if chances[i] <= p:
                strengths, signed = table[name]
                strength = float(strengths[place].item()) if place is not None else 0.0
                if signed and signs[i] == 0:
                    strength *= -1.0
                img = _apply_op(img, name, strength, self.interpolation, fill)
        return img


class RandAugment(_Learned):
    """`num_ops` operations, all of the strength number `magnitude`."""

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation, fill, ["Identity", *_GEOMETRY, *_COLOURS, *_TONES])
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins

    def _place(self, strengths: Tensor) -> int:
        return self.magnitude

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        fill = self._fill_for(img)
        _, height, width = get_dimensions(img)
        table = self._augmentation_space(self.num_magnitude_bins, (height, width))
        for _ in range(self.num_ops):
            img = self._one(img, table, fill)
        return img


class TrivialAugmentWide(_Policy):
    """One operation, of any strength."""

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation, fill, ["Identity", *_GEOMETRY, *_COLOURS, *_TONES])
        self.num_magnitude_bins = num_magnitude_bins

    def _augmentation_space(self, num_bins: int) -> dict[str, tuple[Tensor, bool]]:
        """Of each operation (its strengths, whether they may be negative)."""
        return self._strengths(num_bins, 0.99, 32.0, 32.0, 135.0, 0.99, _fewer_bits(8, 6, num_bins))

    def _place(self, strengths: Tensor) -> int:
        return int(torch.randint(len(strengths), (1,), dtype=torch.long).item())

    def forward(self, img: Tensor) -> Tensor:
        """The image transformed."""
        return self._one(img, self._augmentation_space(self.num_magnitude_bins), self._fill_for(img))


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
        # Without all_ops, none of those that its test set has.
        super().__init__(interpolation, fill, [*_GEOMETRY, *_TONES, *(_COLOURS if all_ops else [])])
        if not 1 <= severity <= 10:
            raise ValueError(f"The severity must be between [1, 10]. Got {severity} instead.")
        self.severity = severity
        self.mixture_width = mixture_width
        self.chain_depth = chain_depth
        self.alpha = alpha
        self.all_ops = all_ops

    def _augmentation_space(
        self, num_bins: int, image_size: tuple[int, int]
    ) -> dict[str, tuple[Tensor, bool]]:
        """Of each operation (its strengths, whether they may be negative); image_size: (height, width)."""
        height, width = image_size
        bits = _fewer_bits(4, 4, num_bins)
        return self._strengths(num_bins, 0.3, width / 3.0, height / 3.0, 30.0, 0.9, bits)

    def _place(self, strengths: Tensor) -> int:
        return int(torch.randint(self.severity, (1,)).item())

    def _sample_dirichlet(self, params: Tensor) -> Tensor:
        return torch._sample_dirichlet(params)

    def forward(self, orig_img: Tensor) -> Tensor:
        """The image transformed."""
        fill = self._fill_for(orig_img)
        _, height, width = get_dimensions(orig_img)
        img = orig_img if isinstance(orig_img, Tensor) else F.pil_to_tensor(orig_img)
        table = self._augmentation_space(10, (height, width))
        batch = img.view([1] * max(4 - img.ndim, 0) + list(img.shape))
        sizes = [batch.size(0)] + [1] * (batch.ndim - 1)
        both = torch.tensor([self.alpha, self.alpha], device=batch.device)
        shares = self._sample_dirichlet(both.expand(sizes[0], -1))
        each = torch.tensor([self.alpha] * self.mixture_width, device=batch.device)
        weights = self._sample_dirichlet(each.expand(sizes[0], -1))
        weights = weights * shares[:, 1].reshape([sizes[0], -1])
        mix = shares[:, 0].reshape(sizes) * batch
        for i in range(self.mixture_width):
            changed = batch
            depth = self.chain_depth
            if depth <= 0:
                depth = int(torch.randint(low=1, high=4, size=(1,)).item())
            for _ in range(depth):
                changed = self._one(changed, table, fill)
            mix.add_(weights[:, i].reshape(sizes) * changed)
        mix = mix.view(img.shape).to(dtype=img.dtype)
        return mix if isinstance(orig_img, Tensor) else F.to_pil_image(mix)
