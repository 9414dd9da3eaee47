"""torchvision's functions and transforms of images, compiled by torch.jit.script."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from rushlight_vision import transforms as T
from rushlight_vision.transforms import functional as F, v2 as T2
from rushlight_vision.transforms.v2 import functional as F2

IMAGE = (torch.arange(3 * 14 * 18) * 37 % 256).to(torch.uint8).reshape(3, 14, 18)
FLOATS = IMAGE / 255


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (F.resize, {"size": [7, 20]}),
        (F.center_crop, {"output_size": [20, 9]}),
        (F.ten_crop, {"size": [5]}),
        (F.pad, {"padding": [2, 1], "fill": 3}),
        (F.pad, {"padding": [2, 1, 0, -1], "padding_mode": "symmetric"}),
        (F.adjust_hue, {"hue_factor": 0.2}),
        (F.equalize, {}),
        (F.gaussian_blur, {"kernel_size": [3, 5]}),
        (F.rotate, {"angle": 30.0, "expand": True, "fill": [1.0, 2.0, 3.0], "center": [3, 4]}),
        (F.affine, {"angle": 10.0, "translate": [1, 2], "scale": 0.8, "shear": [5.0]}),
        (
            F.perspective,
            {
                "startpoints": [[0, 0], [17, 0], [17, 13], [0, 13]],
                "endpoints": [[2, 1], [16, 2], [15, 12], [1, 11]],
            },
        ),
        (F.convert_image_dtype, {"dtype": torch.int16}),
    ],
)
def test_functions_in_scripts(function: Any, options: dict[str, Any]) -> None:
    wanted, found = function(IMAGE, **options), torch.jit.script(function)(IMAGE, **options)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (wanted, found)), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize(
    "transform",
    [
        T.RandomCrop(8, padding=[2], pad_if_needed=True),
        T.RandomResizedCrop(9),
        T.RandomAffine(20, (0.1, 0.1), (0.5, 1.5), (10, 20, 3, 4), fill=(1, 2, 3)),
        T.RandomPerspective(np.float64(0.4), p=1.0),  # a NumPy number is one of Python's
        T.ElasticTransform(sigma=0.5),
        T.ColorJitter(0.1, 0.2, 0.3, 0.4),
        T.RandomErasing(1.0, value=(1, 2, 3)),
        T.RandomApply(torch.nn.ModuleList([T.Grayscale(3), T.RandomHorizontalFlip()])),
        T.AutoAugment(),
        T.RandAugment(fill=2),
        T.AugMix(),
    ],
    ids=lambda t: type(t).__name__,
)
def test_transforms_in_scripts_draw_the_same(transform: Any) -> None:
    scripted = torch.jit.script(transform)
    image = FLOATS if isinstance(transform, T.RandomErasing) else IMAGE
    for seed in range(3):
        torch.manual_seed(seed)
        wanted = transform(image)
        torch.manual_seed(seed)
        assert torch.equal(scripted(image), wanted)


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (F2.resize, {"size": [7, 20]}),
        (F2.resized_crop, {"top": 1, "left": 2, "height": 9, "width": 8, "size": [5]}),
        (F2.center_crop, {"output_size": [20, 9]}),
        (F2.pad, {"padding": [2, 1, 0, 3], "fill": [1.0, 2.0, 3.0]}),
        (F2.rotate, {"angle": 30.0, "expand": True, "fill": [1.0, 2.0, 3.0], "center": [3.0, 4.0]}),
        (F2.affine, {"angle": 10.0, "translate": [1.0, 2.0], "scale": 0.8, "shear": [5.0]}),
        (
            F2.perspective,
            {"startpoints": None, "endpoints": None, "coefficients": [1, 0.1, 0, 0, 1, 0.2, 0.0, 0.0]},
        ),
        (F2.elastic, {"displacement": torch.full((1, 14, 18, 2), 0.1)}),
        (F2.gaussian_blur, {"kernel_size": [3, 5]}),
        (F2.equalize, {}),
        (F2.posterize, {"bits": 3}),
        (F2.adjust_brightness, {"brightness_factor": 1.5}),
        (F2.permute_channels, {"permutation": [2, 0, -2]}),
        (F2.to_dtype, {"dtype": torch.float32, "scale": True}),
    ],
)
def test_functions_of_samples_in_scripts(function: Any, options: dict[str, Any]) -> None:
    assert torch.equal(torch.jit.script(function)(IMAGE, **options), function(IMAGE, **options))


def brighter(image: torch.Tensor) -> torch.Tensor:
    flipped: torch.Tensor = F2.adjust_brightness(F2.horizontal_flip(image), 1.5)
    return flipped


def test_functions_of_samples_that_scripts_call() -> None:
    assert torch.equal(torch.jit.script(brighter)(IMAGE), brighter(IMAGE))


def byte_or_more(image: torch.Tensor, dtype: torch.dtype) -> bool:
    return image.dtype is torch.uint8 and dtype is not torch.uint8


def test_dtypes_are_compared_as_numbers() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntaxWarning)
        scripted = torch.jit.script(byte_or_more)
        assert scripted(IMAGE, torch.float32) and not scripted(IMAGE, torch.uint8)
        assert not scripted(FLOATS, torch.float32)
    assert "torch.__isnot__(dtype, 0)" in scripted.code


@pytest.mark.parametrize("function", [F.convert_image_dtype, torch.jit.script(F.convert_image_dtype)])
def test_all_floats_have_white_at_one(function: Any) -> None:
    assert function(IMAGE, torch.float8_e4m3fn).float().max() == 1


def test_normalize_takes_spreads_that_vanish_in_their_dtype() -> None:
    with pytest.raises(ValueError, match="std evaluated to zero"):
        F2.normalize(FLOATS, [0.5], [0.0])
    for normalize in (F2.normalize, torch.jit.script(F2.normalize)):
        assert normalize(FLOATS.half(), [2.0], [1e-9]).isinf().all()


def test_samples_are_displaced_by_noise_as_their_own_functions_smooth_it() -> None:
    torch.manual_seed(0)
    found = T2.ElasticTransform(2.0, 1.0).make_params([IMAGE])["displacement"]
    torch.manual_seed(0)
    noise = torch.rand(1, 1, 14, 18) * 2 - 1
    assert torch.equal(found[..., 0], F2.gaussian_blur(noise, [9, 9], [1.0, 1.0])[0] * 2.0 / 18)


@pytest.mark.parametrize("size", [[], [3, 4, 5]])
def test_the_middle_has_two_sides(size: list[int]) -> None:
    for crop in (F.center_crop, F2.center_crop, F2.center_crop_image):
        with pytest.raises(ValueError, match="two dimensions"):
            crop(IMAGE, size)


def test_a_dtype_is_a_number_in_scripts_and_files() -> None:
    scripted = torch.jit.script(T.ConvertImageDtype(torch.float32))
    assert torch.equal(scripted(IMAGE), FLOATS)
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    loaded = torch.jit.load(file)
    assert loaded.dtype == 6 and torch.equal(loaded(IMAGE), FLOATS)


def test_transforms_move_as_modules_do() -> None:
    T.Resize([4]).to(torch.float64)  # a method _apply of theirs once stood before Module's
