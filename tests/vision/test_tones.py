"""Colours by table, histogram and neighbourhood, blur, perspective, policies; numbers are torchvision's."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight_vision import transforms as T
from rushlight_vision.transforms import functional as F, v2


def _image() -> torch.Tensor:
    return (torch.arange(3 * 8 * 10) * 37 % 256).to(torch.uint8).reshape(3, 8, 10)


FUNCTIONS = {
    "invert": F.invert,
    "posterize": lambda x: F.posterize(x, 3),
    "solarize": lambda x: F.solarize(x, 100),
    "autocontrast": F.autocontrast,
    "equalize": F.equalize,
    "gamma": lambda x: F.adjust_gamma(x, 0.7, 1.1),
    "sharp": lambda x: F.adjust_sharpness(x, 2),
    "blur": lambda x: F.gaussian_blur(x, [5, 3]),
    "perspective": lambda x: F.perspective(
        x, [[0, 0], [9, 0], [9, 7], [0, 7]], [[1, 1], [8, 0], [9, 6], [0, 7]], fill=[7.0, 8.0, 9.0]
    ),
    "five": lambda x: torch.stack(F.five_crop(x, (4, 5))),
    "ten": lambda x: torch.stack(F.ten_crop(x, 4, True)),
    "bright": lambda x: F.adjust_brightness(x, 2),
}
CLASSES = {
    "AutoAugment": lambda: T.AutoAugment(),
    "RandAugment": lambda: T.RandAugment(3),
    "AugMix": lambda: T.AugMix(),
    "Trivial": lambda: T.TrivialAugmentWide(),
    "GaussianBlur": lambda: T.GaussianBlur(3),
    "RandomPerspective": lambda: T.RandomPerspective(p=1.0),
    "Elastic": lambda: T.ElasticTransform(20.0, 0.5),
}
# The sum, and the sum weighed by places.
WANTED: dict[str, tuple[float, float]] = {
    "invert": (30952.0, 3657392.0),
    "posterize": (26560.0, 3214944.0),
    "solarize": (15964.0, 1916514.0),
    "autocontrast": (30168.0, 3637186.0),
    "equalize": (30248.0, 3656008.0),
    "gamma": (38850.0, 4687117.0),
    "sharp": (30387.0, 3669102.0),
    "blur": (30265.0, 3655004.0),
    "perspective": (23538.0, 2868452.0),
    "five": (37660.0, 5734600.0),
    "ten": (60496.0, 14528656.0),
    "bright": (45512.0, 5490357.0),
    "AutoAugment": (102166.0, 12339402.0),
    "RandAugment": (112242.0, 13328017.0),
    "AugMix": (115370.0, 13921703.0),
    "Trivial": (56881.0, 6854531.0),
    "GaussianBlur": (121070.0, 14624827.0),
    "RandomPerspective": (54469.0, 6348669.0),
    "Elastic": (43932.0, 5302862.0),
}


def _summed(x: torch.Tensor) -> tuple[float, float]:
    flat = x.double().flatten()
    return float(flat.sum()), float((flat * torch.arange(flat.numel())).sum())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    assert _summed(FUNCTIONS[name](_image())) == WANTED[name]


@pytest.mark.parametrize("name", CLASSES)
def test_drawn(name: str) -> None:
    torch.manual_seed(5)
    transform = CLASSES[name]()
    found = [_summed(transform(_image())) for _ in range(4)]
    assert sum(a for a, _ in found) == pytest.approx(WANTED[name][0], abs=6)
    assert sum(b for _, b in found) == pytest.approx(WANTED[name][1], rel=1e-4)


def test_what_is_a_module() -> None:
    plain = (T.Compose([]), T.ToTensor(), T.PILToTensor(), T.ToPILImage(), T.Lambda(abs), T.RandomChoice([]))
    assert not any(isinstance(transform, torch.nn.Module) for transform in plain)
    modules = (
        T.RandomApply([]),
        T.Normalize([0.5], [0.5]),
        v2.Compose([abs]),
        v2.ToPILImage(),
        v2.RandomChoice([abs]),
    )
    assert all(isinstance(transform, torch.nn.Module) for transform in modules)


def test_reprs() -> None:
    assert repr(T.RandomPosterize(2)) == "RandomPosterize(bits=2,p=0.5)"
    assert repr(T.TrivialAugmentWide()) == (
        "TrivialAugmentWide(num_magnitude_bins=31, interpolation=InterpolationMode.NEAREST, fill=None)"
    )
    assert (
        repr(T.RandomApply([T.RandomInvert(1.0)], 0.7))
        == "RandomApply(\n    p=0.7\n    RandomInvert(p=1.0)\n)"
    )


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="odd and positive"):
        F.gaussian_blur(_image(), 4)
    with pytest.raises(TypeError, match="permitted channel values are"):
        F.invert(torch.zeros(2, 4, 4))
    with pytest.raises(TypeError, match="Only torch.uint8 image tensors"):
        F.equalize(torch.zeros(3, 4, 4))
    with pytest.raises(ValueError, match="exactly four corners"):
        F.perspective(_image(), [[0, 0]], [[0, 0]])
