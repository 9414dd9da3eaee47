"""Colours and tones of images and videos (transforms.functional's, rounded as torchvision's v2 rounds)."""

from __future__ import annotations

from typing import Any

import rushlight as torch
import rushlight.nn.functional as nnF
from rushlight_vision.transforms import colors as v1, tones
from rushlight_vision.transforms.conversion import most
from rushlight_vision.transforms.v2.functional._dtypes import to_dtype_image, value_bits
from rushlight_vision.transforms.v2.functional._utils import _dispatched, _images

_ABSENT = "a kernel does it"


def _check_channels(image: Any, factor: float = 0.0, name: str = "") -> int:
    """1 or 3; TypeError for other images, ValueError for a negative factor."""
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")
    count: int = image.shape[-3]
    if count not in (1, 3):
        raise TypeError(f"Input image tensor permitted channel values are 1 or 3, but found {count}")
    return count


def _grey(image: Any) -> Any:
    """Luma (..., 1, H, W), as floats."""
    r, g, b = image.unbind(-3)
    return r.mul(0.2989).add_(g, alpha=0.587).add_(b, alpha=0.114).unsqueeze(-3)


def _blend(image: Any, other: Any, ratio: float) -> Any:
    found = image.mul(float(ratio)).add_(other, alpha=1.0 - ratio).clamp_(0, most(image.dtype))
    return found.to(image.dtype)


@_dispatched
def rgb_to_grayscale(inpt: Any, num_output_channels: int = 1) -> Any:
    """Luma, in 1 or 3 equal channels."""
    raise AssertionError(_ABSENT)


def _check_outputs(num_output_channels: int) -> None:
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels must be 1 or 3, got {num_output_channels}.")


def _rgb_to_grayscale_pil(image: Any, num_output_channels: int = 1) -> Any:
    _check_outputs(num_output_channels)
    return v1.rgb_to_grayscale(image, num_output_channels)


@_images(rgb_to_grayscale, _rgb_to_grayscale_pil)
def rgb_to_grayscale_image(image: Any, num_output_channels: int = 1) -> Any:
    """The luma of a tensor (..., 3, H, W); one channel stays as it is."""
    _check_outputs(num_output_channels)
    if image.shape[-3] == 1:
        repeats = [1] * image.ndim
        repeats[-3] = num_output_channels
        return image.repeat(repeats)
    grey = _grey(image).to(image.dtype)
    return grey if num_output_channels == 1 else grey.expand(image.shape)


@_dispatched
def grayscale_to_rgb(inpt: Any) -> Any:
    """Three channels; images that have as many stay."""
    raise AssertionError(_ABSENT)


def _to_rgb_pil(image: Any) -> Any:
    return image.convert(mode="RGB")


@_images(grayscale_to_rgb, _to_rgb_pil)
def grayscale_to_rgb_image(image: Any) -> Any:
    """A tensor (..., 1, H, W) three times; others stay."""
    return image if image.shape[-3] >= 3 else rgb_to_grayscale_image(image, 3)


@_dispatched
def adjust_brightness(inpt: Any, brightness_factor: float) -> Any:
    """0 gives black, 1 the image, 2 twice its brightness."""
    raise AssertionError(_ABSENT)


@_images(adjust_brightness, v1.adjust_brightness)
def adjust_brightness_image(image: Any, brightness_factor: float) -> Any:
    """A tensor (..., C, H, W) times a factor."""
    _check_channels(image, brightness_factor, "brightness_factor")
    return image.mul(brightness_factor).clamp_(0, most(image.dtype)).to(image.dtype)


@_dispatched
def adjust_saturation(inpt: Any, saturation_factor: float) -> Any:
    """Blend with the grey image."""
    raise AssertionError(_ABSENT)


@_images(adjust_saturation, v1.adjust_saturation)
def adjust_saturation_image(image: Any, saturation_factor: float) -> Any:
    """A tensor (..., C, H, W), blended with its luma."""
    if _check_channels(image, saturation_factor, "saturation_factor") == 1:
        return image
    grey = _grey(image)
    return _blend(image, grey if image.is_floating_point() else grey.floor_(), saturation_factor)


@_dispatched
def adjust_contrast(inpt: Any, contrast_factor: float) -> Any:
    """Blend with the image's mean grey."""
    raise AssertionError(_ABSENT)


@_images(adjust_contrast, v1.adjust_contrast)
def adjust_contrast_image(image: Any, contrast_factor: float) -> Any:
    """A tensor (..., C, H, W), blended with its mean luma."""
    channels, floating = _check_channels(image, contrast_factor, "contrast_factor"), image.is_floating_point()
    if channels == 3:
        grey = _grey(image) if floating else _grey(image).floor_()
    else:
        grey = image if floating else image.float()
    return _blend(image, grey.mean((-3, -2, -1), keepdim=True), contrast_factor)


@_dispatched
def adjust_sharpness(inpt: Any, sharpness_factor: float) -> Any:
    """0 is smoothed, 1 the image, 2 twice as sharp."""
    raise AssertionError(_ABSENT)


@_images(adjust_sharpness, tones.adjust_sharpness)
def adjust_sharpness_image(image: Any, sharpness_factor: float) -> Any:
    """A tensor (..., C, H, W), blended with itself smoothed; its borders stay."""
    channels, h, w = image.shape[-3:]
    if channels not in (1, 3):
        raise TypeError(f"Input image tensor can have 1 or 3 channels, but found {channels}")
    if sharpness_factor < 0:
        raise ValueError(f"sharpness_factor ({sharpness_factor}) is not non-negative.")
    if image.numel() == 0 or h <= 2 or w <= 2:
        return image
    floating = image.is_floating_point()
    found = image.reshape(-1, channels, h, w).to(image.dtype if floating else torch.float32, copy=True)
    kernel = torch.full((3, 3), 1.0 / 13.0, dtype=found.dtype, device=found.device)
    kernel[1, 1] = 5.0 / 13.0
    smooth = nnF.conv2d(found, kernel.expand(channels, 1, 3, 3), groups=channels)
    inner = found[..., 1:-1, 1:-1]
    inner.add_((smooth if floating else smooth.round_()).sub_(inner), alpha=1.0 - sharpness_factor)
    return found.clamp_(0, most(image.dtype)).to(image.dtype).reshape(image.shape)


@_dispatched
def adjust_hue(inpt: Any, hue_factor: float) -> Any:
    """The hue turned by a factor in [-0.5, 0.5] of the circle."""
    raise AssertionError(_ABSENT)


@_images(adjust_hue, v1.adjust_hue)
def adjust_hue_image(image: Any, hue_factor: float) -> Any:
    """A tensor (..., C, H, W) with its hue turned."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if _check_channels(image) == 1 or image.numel() == 0:
        return image
    h, s, v = v1._hsv(to_dtype_image(image, torch.float32, scale=True))
    return to_dtype_image(v1._rgb(h.add(hue_factor).remainder(1.0), s, v), image.dtype, scale=True)


@_dispatched
def adjust_gamma(inpt: Any, gamma: float, gain: float = 1) -> Any:
    """gain * image ** gamma, on values in [0, 1]."""
    raise AssertionError(_ABSENT)


@_images(adjust_gamma, tones.adjust_gamma)
def adjust_gamma_image(image: Any, gamma: float, gain: float = 1.0) -> Any:
    """A tensor's values to a power."""
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    exact = image if image.is_floating_point() else to_dtype_image(image, torch.float32, scale=True)
    found = exact.pow(gamma)
    return to_dtype_image(found if gain == 1 else found.mul(gain).clamp_(0, 1), image.dtype, scale=True)


@_dispatched
def posterize(inpt: Any, bits: int) -> Any:
    """The leading bits (0 to 8) of each value."""
    raise AssertionError(_ABSENT)


@_images(posterize, tones.posterize)
def posterize_image(image: Any, bits: int) -> Any:
    """The leading bits of a tensor's values; of floats, 2 ** bits levels."""
    if not isinstance(bits, int) or not 0 <= bits <= 8:
        raise TypeError(f"bits must be a positive integer in the range [0, 8], got {bits} instead.")
    levels = 1 << bits
    if image.is_floating_point():
        return image.mul(levels).floor_().clamp_(0, levels - 1).mul_(1.0 / levels)
    whole = value_bits(image.dtype)
    return image if bits >= whole else image & ((levels - 1) << (whole - bits))


@_dispatched
def invert(inpt: Any) -> Any:
    """Black for white."""
    raise AssertionError(_ABSENT)


@_images(invert, tones.invert)
def invert_image(image: Any) -> Any:
    """The greatest value less a tensor's."""
    if image.is_floating_point():
        return 1.0 - image
    return image.bitwise_not() if image.dtype is torch.uint8 else image.bitwise_xor(most(image.dtype))


@_dispatched
def solarize(inpt: Any, threshold: float) -> Any:
    """Inverted where the image is at least `threshold`."""
    raise AssertionError(_ABSENT)


@_images(solarize, tones.solarize)
def solarize_image(image: Any, threshold: float) -> Any:
    """A tensor inverted where it is at least `threshold`."""
    if threshold > most(image.dtype):
        raise TypeError(
            f"Threshold should be less or equal the maximum value of the dtype, but got {threshold}"
        )
    return torch.where(image >= threshold, invert_image(image), image)


@_dispatched
def autocontrast(inpt: Any) -> Any:
    """Each channel stretched to the whole range."""
    raise AssertionError(_ABSENT)


@_images(autocontrast, tones.autocontrast)
def autocontrast_image(image: Any) -> Any:
    """A tensor's channels, each stretched from its least and greatest value."""
    _check_channels(image)
    if image.numel() == 0:
        return image
    bound, exact = most(image.dtype), image if image.is_floating_point() else image.float()
    least, top = exact.amin((-2, -1), keepdim=True), exact.amax((-2, -1), keepdim=True)
    flat = least == top
    spread = torch.where(flat, 1.0, (top - least) * (1.0 / bound))
    return (exact - torch.where(flat, 0.0, least)).div_(spread).clamp_(0, bound).to(image.dtype)


@_dispatched
def equalize(inpt: Any) -> Any:
    """Values by their rank in the channel's histogram."""
    raise AssertionError(_ABSENT)


@_images(equalize, tones.equalize)
def equalize_image(image: Any) -> Any:
    """A tensor's values as bytes, by their rank, in its own dtype."""
    if image.numel() == 0:
        return image
    shades = to_dtype_image(image, torch.uint8, scale=True)
    found = tones.equalize(shades.reshape([-1, 1, image.shape[-2], image.shape[-1]])).reshape(image.shape)
    return to_dtype_image(found, image.dtype, scale=True)


@_dispatched
def permute_channels(inpt: Any, permutation: list[int]) -> Any:
    """The channels in another order."""
    raise AssertionError(_ABSENT)


def _permute_channels_pil(image: Any, permutation: Any) -> Any:
    return tones.on_tensor(image, lambda x: permute_channels_image(x, permutation))


@_images(permute_channels, _permute_channels_pil)
def permute_channels_image(image: torch.Tensor, permutation: list[int]) -> torch.Tensor:
    """A tensor's channels in another order; ValueError unless it names each."""
    if len(permutation) != image.shape[-3]:
        raise ValueError(
            f"Length of permutation does not match number of channels: {len(permutation)} "
            f"!= {image.shape[-3]}"
        )
    order = torch.as_tensor(permutation, device=image.device)
    return image.index_select(-3, torch.where(order < 0, order + len(order), order))


to_grayscale = rgb_to_grayscale
adjust_brightness_video, adjust_saturation_video = adjust_brightness_image, adjust_saturation_image
adjust_contrast_video, adjust_sharpness_video = adjust_contrast_image, adjust_sharpness_image
adjust_hue_video, adjust_gamma_video = adjust_hue_image, adjust_gamma_image
posterize_video, invert_video, solarize_video = posterize_image, invert_image, solarize_image
autocontrast_video, equalize_video = autocontrast_image, equalize_image
permute_channels_video = permute_channels_image
