"""What transforms ask of samples, and how their options are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rushlight_vision import tv_tensors
from rushlight_vision.datasets.utils import iterable_to_str
from rushlight_vision.pillow import is_image
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2.functional._utils import is_pure_tensor

# --- samples ------------------------------------------------------------------------------------


def check_type(obj: Any, types_or_checks: Sequence[Any]) -> bool:
    """Whether it is of one of the types, or one of the functions says yes."""
    return any(isinstance(obj, t) if isinstance(t, type) else t(obj) for t in types_or_checks)


def has_any(flat_inputs: Sequence[Any], *types_or_checks: Any) -> bool:
    """Whether something in a sample is of one of the types."""
    return any(check_type(inpt, types_or_checks) for inpt in flat_inputs)


def has_all(flat_inputs: Sequence[Any], *types_or_checks: Any) -> bool:
    """Whether a sample has something of each of the types."""
    return all(any(check_type(inpt, (t,)) for inpt in flat_inputs) for t in types_or_checks)


def get_bounding_boxes(flat_inputs: Sequence[Any]) -> Any:
    """A sample's first boxes; ValueError without any."""
    found = [inpt for inpt in flat_inputs if isinstance(inpt, tv_tensors.BoundingBoxes)]
    if not found:
        raise ValueError("No bounding boxes were found in the sample")
    return found[0]


def get_keypoints(flat_inputs: Sequence[Any]) -> Any:
    """A sample's first points; ValueError without any."""
    found = [inpt for inpt in flat_inputs if isinstance(inpt, tv_tensors.KeyPoints)]
    if not found:
        raise ValueError("No keypoints were found in the sample")
    return found[0]


_IMAGES = (is_pure_tensor, tv_tensors.Image, is_image, tv_tensors.Video)


def _only(found: set[tuple[int, ...]], what: str, absent: str) -> tuple[int, ...]:
    if not found:
        raise TypeError(f"No {absent} was found in the sample")
    if len(found) > 1:
        several = iterable_to_str(sorted(found))
        raise ValueError(f"Found multiple {what} dimensions in the sample: {several}")
    return found.pop()


def query_chw(flat_inputs: Sequence[Any]) -> tuple[int, ...]:
    """(channels, height, width) of all images of a sample; TypeError without, ValueError for several."""
    found = {tuple(F.get_dimensions(inpt)) for inpt in flat_inputs if check_type(inpt, _IMAGES)}
    return _only(found, "CxHxW", "image or video")


def query_size(flat_inputs: Sequence[Any]) -> tuple[int, ...]:
    """(height, width) of all that a sample has; TypeError without, ValueError for several."""
    kinds = (*_IMAGES, tv_tensors.Mask, tv_tensors.BoundingBoxes, tv_tensors.KeyPoints)
    found = {tuple(F.get_size(inpt)) for inpt in flat_inputs if check_type(inpt, kinds)}
    return _only(found, "HxW", "image, video, mask, bounding box of keypoint")


def _labels_of(inputs: Any) -> Any:
    """The labels in a sample: its second part, or what a dict has under a key like "labels"."""
    inputs = inputs[1] if isinstance(inputs, (tuple, list)) else inputs
    if is_pure_tensor(inputs):
        return inputs
    if not isinstance(inputs, Mapping):
        raise ValueError(
            "When using the default labels_getter, the input passed to forward must be a dictionary or a "
            "two-tuple whose second item is a dictionary or a tensor, "
            f"but got {inputs} instead."
        )
    exact = [key for key in inputs if key.lower() == "labels"]
    found = [*exact, *(key for key in inputs if "label" in key.lower())]
    if not found:
        raise ValueError(
            "Could not infer where the labels are in the sample. Try passing a callable as the labels_getter "
            "parameter?If there are no labels in the sample by design, pass labels_getter=None."
        )
    return inputs[found[0]]


def _no_labels(inputs: Any) -> None:
    return None


def _parse_labels_getter(labels_getter: Any) -> Callable[[Any], Any]:
    if labels_getter == "default":
        return _labels_of
    if labels_getter is None:
        return _no_labels
    if callable(labels_getter):
        found: Callable[[Any], Any] = labels_getter
        return found
    raise ValueError(
        f"labels_getter should either be 'default', a callable, or None, but got {labels_getter}."
    )


# --- options ------------------------------------------------------------------------------------


def _setup_number_or_seq(arg: Any, name: str) -> list[float]:
    """Two numbers, of one for both or one for each."""
    if not isinstance(arg, (int, float, Sequence)):
        raise TypeError(f"{name} should be a number or a sequence of numbers. Got {type(arg)}")
    found = [arg] if isinstance(arg, (int, float)) else list(arg)
    if len(found) not in (1, 2):
        raise ValueError(f"If {name} is a sequence its length should be 1 or 2. Got {len(found)}")
    for element in found:
        if not isinstance(element, (int, float)):
            raise ValueError(f"{name} should be a sequence of numbers. Got {type(element)}")
    return [float(v) for v in found * (2 // len(found))]


def _fill(given: Any) -> Any:
    if given is not None and not isinstance(given, (int, float, tuple, list)):
        raise TypeError("Got inappropriate fill arg, only Numbers, tuples, lists and dicts are allowed.")
    return given if given is None or isinstance(given, (int, float)) else [float(v) for v in given]


def _setup_fill_arg(fill: Any) -> dict[Any, Any]:
    """The fill for each type; "others" for what is not named."""
    return {k: _fill(v) for k, v in fill.items()} if isinstance(fill, dict) else {"others": _fill(fill)}


def _get_fill(fill_dict: dict[Any, Any], inpt_type: Any) -> Any:
    return fill_dict[inpt_type] if inpt_type in fill_dict else fill_dict.get("others")


def _check_padding_arg(padding: Any) -> None:
    several = isinstance(padding, (tuple, list))
    if several and len(padding) in (1, 2, 4) and all(isinstance(p, int) for p in padding):
        return
    if several or not isinstance(padding, int):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element of tuple or list, got {padding}.")


def _check_padding_mode_arg(padding_mode: Any) -> None:
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
