"""Tones: inverted, fewer, brighter, sharper (torchvision.transforms.functional's colour operations by
histogram, by table and by neighbourhood).
"""

from __future__ import annotations

from typing import Any

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor
from rushlight_vision.pillow import checked_image, is_image, pillow
from rushlight_vision.transforms.colors import _blend, not_negative, of_colours
from rushlight_vision.transforms.conversion import convert_image_dtype, most, pil_to_tensor, to_pil_image
from rushlight_vision.transforms.geometry import batch_of, image_like


def _tones(img: Tensor, dims: int = 3) -> None:
    """TypeError for a tensor that is no image of 1 or 3 channels."""
    if img.ndim < dims:
        raise TypeError(f"Input image tensor should have at least {dims} dimensions, but found {img.ndim}")
    of_colours(img)


def _bytes(img: Tensor) -> None:
    """TypeError for a tensor of anything but bytes."""
    if img.dtype != torch.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")


def invert(img: Tensor) -> Tensor:
    """Black for white: the greatest value less the image's, of 1 or 3 channels."""
    if not isinstance(img, Tensor):
        return pillow("ImageOps").invert(checked_image(img))
    _tones(img)
    return most(img.dtype) - img


def posterize(img: Tensor, bits: int) -> Tensor:
    """The leading `bits` (0 to 8) of the bytes of an image; the rest is 0."""
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    if not isinstance(img, Tensor):
        return pillow("ImageOps").posterize(checked_image(img), bits)
    _tones(img)
    _bytes(img)
    return img & -int(2 ** (8 - bits))


def solarize(img: Tensor, threshold: float) -> Tensor:
    """Inverted where the image is at least `threshold`."""
    if not isinstance(img, Tensor):
        return pillow("ImageOps").solarize(checked_image(img), threshold)
    _tones(img)
    if threshold > most(img.dtype):
        raise TypeError("Threshold should be less than bound of img.")
    return torch.where(img >= threshold, invert(img), img)


def autocontrast(img: Tensor) -> Tensor:
    """Each channel stretched from its least and greatest value to the whole range."""
    if not isinstance(img, Tensor):
        return pillow("ImageOps").autocontrast(checked_image(img))
    _tones(img)
    bound, dtype = most(img.dtype), img.dtype if img.is_floating_point() else torch.float32
    least = img.amin((-2, -1), keepdim=True).to(dtype)
    scale = bound / (img.amax((-2, -1), keepdim=True).to(dtype) - least)
    flat = ~torch.isfinite(scale)
    least, scale = torch.where(flat, 0, least), torch.where(flat, 1, scale)
    return ((img - least) * scale).clamp(0, bound).to(img.dtype)


def equalize(img: Tensor) -> Tensor:
    """Bytes by their rank in the channel's histogram, so that all values are about as frequent."""
    if not isinstance(img, Tensor):
        return pillow("ImageOps").equalize(checked_image(img))
    if not 3 <= img.ndim <= 4:
        raise TypeError(f"Input image tensor should have 3 or 4 dimensions, but found {img.ndim}")
    _bytes(img)
    of_colours(img)
    channels = img.reshape([-1, img.shape[-2] * img.shape[-1]]).to(torch.int64)
    none = channels.new_zeros([len(channels), 256])
    counts = none.scatter_add_(1, channels, torch.ones_like(channels))
    # The last value that occurs does not count: it has nothing above it.
    last = 255 - (counts.flip(1) != 0).to(torch.int64).argmax(1, keepdim=True)
    step = (counts.sum(1, keepdim=True) - counts.gather(1, last)) // 255
    table = (counts.cumsum(1) + step // 2) // step.clamp(min=1)
    table = F.pad(table, [1, 0])[:, :-1].clamp(0, 255)
    found = torch.where(step == 0, channels, table.gather(1, channels))
    return found.to(torch.uint8).view(img.shape)


def _bent(img: Any, gamma: float, gain: float) -> Any:
    table = [(255 + 1 - 1e-3) * gain * pow(k / 255.0, gamma) for k in range(256)] * 3
    return img.convert("RGB").point([int(v) for v in table]).convert(img.mode)


def adjust_gamma(img: Tensor, gamma: float, gain: float = 1) -> Tensor:
    """gain * image ** gamma, on values in [0, 1]."""
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    if not isinstance(img, Tensor):
        return _bent(checked_image(img), gamma, gain)
    of_colours(img)
    values = img if img.is_floating_point() else convert_image_dtype(img, torch.float32)
    return convert_image_dtype((gain * values**gamma).clamp(0, 1), img.dtype)


def adjust_sharpness(img: Tensor, sharpness_factor: float) -> Tensor:
    """Blend with the image smoothed by its neighbours: 0 is blurred, 1 the image, 2 twice as sharp."""
    if not isinstance(img, Tensor):
        return pillow("ImageEnhance").Sharpness(checked_image(img)).enhance(sharpness_factor)
    not_negative(sharpness_factor, "sharpness_factor")
    _tones(img, dims=2)
    if min(img.shape[-2], img.shape[-1]) <= 2:
        return img
    x = batch_of(img)
    kernel = torch.ones([3, 3], dtype=x.dtype, device=x.device)
    kernel[1, 1] = 5.0
    kernel /= kernel.sum()
    smooth = F.conv2d(x, kernel.expand([x.shape[1], 1, 3, 3]), groups=x.shape[1])
    blurred = img.clone()
    blurred[..., 1:-1, 1:-1] = image_like(img, smooth)
    return _blend(img, blurred, sharpness_factor)


# --- blur ---------------------------------------------------------------------------------------


def gaussian_blur(img: Tensor, kernel_size: list[int], sigma: list[float] | None = None) -> Tensor:
    """Smoothed by a Gaussian of `kernel_size` (x, y), odd numbers of pixels; `sigma` (x, y): 0.15 of that and
    0.35 where it is None. The borders are reflected.
    """
    sizes, sigmas = blur_options(kernel_size, sigma)
    if not isinstance(img, Tensor):
        return on_tensor(img, lambda x: blurred(x, sizes, sigmas))
    return blurred(img, sizes, sigmas)


def blur_options(kernel_size: list[int], sigma: list[float] | None) -> tuple[list[int], list[float]]:
    """The kernel's sizes and widths (x, y); TypeError or ValueError for what are none."""
    if not isinstance(kernel_size, (int, list, tuple)):
        raise TypeError(f"kernel_size should be int or a sequence of integers. Got {type(kernel_size)}")
    sizes = [kernel_size, kernel_size] if isinstance(kernel_size, int) else list(kernel_size)
    if len(sizes) != 2:
        raise ValueError(f"If kernel_size is a sequence its length should be 2. Got {len(sizes)}")
    for n in sizes:
        if n % 2 == 0 or n < 0:
            raise ValueError(f"kernel_size should have odd and positive integers. Got {sizes}")
    if sigma is None:
        return sizes, [n * 0.15 + 0.35 for n in sizes]
    if not isinstance(sigma, (int, float, list, tuple)):
        raise TypeError(f"sigma should be either float or sequence of floats. Got {type(sigma)}")
    sigmas = [float(sigma)] if isinstance(sigma, (int, float)) else [float(s) for s in sigma]
    if len(sigmas) == 1:
        sigmas = [sigmas[0], sigmas[0]]
    if len(sigmas) != 2:
        raise ValueError(f"If sigma is a sequence, its length should be 2. Got {len(sigmas)}")
    for s in sigmas:
        if s <= 0.0:
            raise ValueError(f"sigma should have positive values. Got {sigmas}")
    return sizes, sigmas


def weights(n: int, sigma: float, dtype: torch.dtype, where: torch.device) -> Tensor:
    """(n,): a Gaussian's weights, which add up to 1."""
    half = (n - 1) * 0.5
    density = torch.exp(-0.5 * (torch.linspace(-half, half, n, dtype=dtype, device=where) / sigma).pow(2))
    return density / density.sum()


def blurred(img: Tensor, sizes: list[int], sigmas: list[float]) -> Tensor:
    """A tensor smoothed by a Gaussian of `blur_options`."""
    x = batch_of(img)
    across = weights(sizes[0], sigmas[0], x.dtype, x.device)
    down = weights(sizes[1], sigmas[1], x.dtype, x.device)
    kernel = torch.mm(down[:, None], across[None, :]).expand([x.shape[1], 1, sizes[1], sizes[0]])
    beyond = [sizes[0] // 2, sizes[0] // 2, sizes[1] // 2, sizes[1] // 2]
    return image_like(img, F.conv2d(F.pad(x, beyond, mode="reflect"), kernel, groups=x.shape[1]))


def on_tensor(img: Any, compute: Any) -> Any:
    """compute(tensor); a PIL image goes there and back."""
    if not isinstance(img, Tensor) and not is_image(img):
        raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")
    return to_pil_image(compute(pil_to_tensor(img)), img.mode) if is_image(img) else compute(img)
