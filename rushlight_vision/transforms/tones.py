"""Tones: inverted, fewer, brighter, sharper (torchvision.transforms.functional's colour operations by
histogram, by table and by neighbourhood).
"""

from __future__ import annotations

from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight_vision.pillow import is_image, pillow
from rushlight_vision.transforms.colors import _blend
from rushlight_vision.transforms.conversion import convert_image_dtype, most, pil_to_tensor, to_pil_image
from rushlight_vision.transforms.geometry import in_floats


def _tones(img: Any, dims: int = 3, dtype: Any = None) -> None:
    """TypeError for a tensor that is no image of 1 or 3 channels (of that dtype)."""
    if not isinstance(img, torch.Tensor):
        raise TypeError(f"Unexpected type {type(img)}: expected a PIL image or a tensor (..., C, H, W)")
    if img.ndim < dims:
        raise TypeError(f"Input image tensor should have at least {dims} dimensions, but found {img.ndim}")
    if dtype is not None and img.dtype is not dtype:
        raise TypeError(f"Only {dtype} image tensors are supported, but found {img.dtype}")
    channels = img.shape[-3] if img.ndim > 2 else 1
    if channels not in (1, 3):
        raise TypeError(f"Input image tensor permitted channel values are [1, 3], but found {channels}")


def invert(img: Any) -> Any:
    """Black for white: the greatest value less the image's, of 1 or 3 channels."""
    if is_image(img):
        return pillow("ImageOps").invert(img)
    _tones(img)
    return most(img.dtype) - img


def posterize(img: Any, bits: int) -> Any:
    """The leading `bits` (0 to 8) of the bytes of an image; the rest is 0."""
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    if is_image(img):
        return pillow("ImageOps").posterize(img, bits)
    _tones(img, dtype=torch.uint8)
    return img & -int(2 ** (8 - bits))


def solarize(img: Any, threshold: float) -> Any:
    """Inverted where the image is at least `threshold`."""
    if is_image(img):
        return pillow("ImageOps").solarize(img, threshold)
    _tones(img)
    if threshold > most(img.dtype):
        raise TypeError("Threshold should be less than bound of img.")
    return torch.where(img >= threshold, invert(img), img)


def autocontrast(img: Any) -> Any:
    """Each channel stretched from its least and greatest value to the whole range."""
    if is_image(img):
        return pillow("ImageOps").autocontrast(img)
    _tones(img)
    bound, dtype = most(img.dtype), img.dtype if img.is_floating_point() else torch.float32
    least, top = (v.to(dtype) for v in (img.amin((-2, -1), keepdim=True), img.amax((-2, -1), keepdim=True)))
    scale = bound / (top - least)
    flat = ~torch.isfinite(scale)
    least, scale = torch.where(flat, 0, least), torch.where(flat, 1, scale)
    return ((img - least) * scale).clamp(0, bound).to(img.dtype)


def equalize(img: Any) -> Any:
    """Bytes by their rank in the channel's histogram, so that all values are about as frequent."""
    if is_image(img):
        return pillow("ImageOps").equalize(img)
    if isinstance(img, torch.Tensor) and not 3 <= img.ndim <= 4:
        raise TypeError(f"Input image tensor should have 3 or 4 dimensions, but found {img.ndim}")
    _tones(img, dtype=torch.uint8)
    channels = img.reshape(-1, img.shape[-2] * img.shape[-1]).to(torch.int64)
    none = channels.new_zeros(len(channels), 256)
    counts = none.scatter_add_(1, channels, torch.ones_like(channels))
    # The last value that occurs does not count: it has nothing above it.
    last = 255 - (counts.flip(1) != 0).to(torch.int64).argmax(1, keepdim=True)
    step = (counts.sum(1, keepdim=True) - counts.gather(1, last)) // 255
    table = (counts.cumsum(1) + step // 2) // step.clamp(min=1)
    table = F.pad(table, [1, 0])[:, :-1].clamp(0, 255)
    found = torch.where(step == 0, channels, table.gather(1, channels))
    return found.to(torch.uint8).view(img.shape)


def adjust_gamma(img: Any, gamma: float, gain: float = 1) -> Any:
    """gain * image ** gamma, on values in [0, 1]."""
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    if is_image(img):
        table = [(255 + 1 - 1e-3) * gain * pow(k / 255.0, gamma) for k in range(256)] * 3
        return img.convert("RGB").point([int(v) for v in table]).convert(img.mode)
    _tones(img)
    values = img if img.is_floating_point() else convert_image_dtype(img, torch.float32)
    return convert_image_dtype((gain * values**gamma).clamp(0, 1), img.dtype)


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """Blend with the image smoothed by its neighbours: 0 is blurred, 1 the image, 2 twice as sharp."""
    if is_image(img):
        return pillow("ImageEnhance").Sharpness(img).enhance(sharpness_factor)
    if sharpness_factor < 0:
        raise ValueError(f"sharpness_factor ({sharpness_factor}) is not non-negative.")
    _tones(img, dims=2)
    if min(img.shape[-2:]) <= 2:
        return img

    def smoothed(x: Any) -> Any:
        kernel = torch.ones(3, 3, dtype=x.dtype, device=x.device)
        kernel[1, 1] = 5.0
        kernel /= kernel.sum()
        return F.conv2d(x, kernel.expand(x.shape[1], 1, 3, 3), groups=x.shape[1])

    blurred = img.clone()
    blurred[..., 1:-1, 1:-1] = in_floats(img, smoothed)
    return _blend(img, blurred, sharpness_factor)


# --- blur ---------------------------------------------------------------------------------------


def _two(given: Any, name: str, whole: str, error: str) -> list[Any]:
    if not isinstance(given, (int, float, list, tuple)):
        raise TypeError(f"{name} should be {whole}. Got {type(given)}")
    found = [given] * 2 if isinstance(given, (int, float)) else list(given)
    if len(found) == 1 and name == "sigma":
        found = found * 2
    if len(found) != 2:
        raise ValueError(f"{error} Got {len(found)}")
    return found


def gaussian_blur(img: Any, kernel_size: Any, sigma: Any = None) -> Any:
    """Smoothed by a Gaussian of `kernel_size` (x, y), odd numbers of pixels; `sigma` (x, y): 0.15 of that and
    0.35 where it is None. The borders are reflected.
    """
    sizes, sigmas = blur_options(kernel_size, sigma)
    return on_tensor(img, lambda x: _blurred(x, sizes, sigmas))


def blur_options(kernel_size: Any, sigma: Any) -> tuple[list[int], list[float]]:
    """The kernel's sizes and widths (x, y); TypeError or ValueError for what are none."""
    sizes = _two(
        kernel_size,
        "kernel_size",
        "int or a sequence of integers",
        "If kernel_size is a sequence its length should be 2.",
    )
    if any(n % 2 == 0 or n < 0 for n in sizes):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {sizes}")
    given = [n * 0.15 + 0.35 for n in sizes] if sigma is None else sigma
    sigmas = _two(
        given,
        "sigma",
        "either float or sequence of floats",
        "If sigma is a sequence, its length should be 2.",
    )
    if any(s <= 0 for s in sigmas):
        raise ValueError(f"sigma should have positive values. Got {sigmas}")
    return sizes, [float(s) for s in sigmas]


def weights(n: int, sigma: float, dtype: Any, where: Any) -> Any:
    """(n,): a Gaussian's weights, which add up to 1."""
    half = (n - 1) * 0.5
    density = torch.exp(-0.5 * (torch.linspace(-half, half, n, dtype=dtype, device=where) / sigma).pow(2))
    return density / density.sum()


def _blurred(img: Any, sizes: list[int], sigmas: list[float]) -> Any:
    def smoothed(x: Any) -> Any:
        across, down = (weights(n, s, x.dtype, x.device) for n, s in zip(sizes, sigmas))
        kernel = torch.mm(down[:, None], across[None, :]).expand(x.shape[1], 1, sizes[1], sizes[0])
        beyond = [sizes[0] // 2] * 2 + [sizes[1] // 2] * 2
        return F.conv2d(F.pad(x, beyond, mode="reflect"), kernel, groups=x.shape[1])

    return in_floats(img, smoothed)


def on_tensor(img: Any, compute: Any) -> Any:
    """compute(tensor); a PIL image goes there and back."""
    if not isinstance(img, torch.Tensor) and not is_image(img):
        raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")
    return to_pil_image(compute(pil_to_tensor(img)), img.mode) if is_image(img) else compute(img)
