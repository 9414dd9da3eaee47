"""torchvision's ops by the names that they have in torch.ops.torchvision."""

from __future__ import annotations

from rushlight import Tensor
from rushlight.library import Library
from rushlight_vision.ops.boxes import nms
from rushlight_vision.ops.deform_conv import deform_conv2d
from rushlight_vision.ops.roi_align import roi_align


def _has_ops() -> bool:
    """Whether the ops are there: always."""
    return True


def _assert_has_ops() -> None:
    """Nothing: the ops are there."""


def _check_cuda_version() -> int:
    """-1: the ops are compiled for no version of CUDA."""
    return -1


def _roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    return roi_align(input, rois, (pooled_height, pooled_width), spatial_scale, sampling_ratio, aligned)


def _deform_conv2d(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Tensor:
    # The groups follow from the sizes.
    strides, padding, dilation = (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w)
    return deform_conv2d(input, offset, weight, bias, strides, padding, dilation, mask if use_mask else None)


_library = Library("torchvision", "DEF")
_library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
_library.define(
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor"
)
_library.define(
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, "
    "SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
    "SymInt offset_groups, bool use_mask) -> Tensor"
)
for _name, _function in (("nms", nms), ("roi_align", _roi_align), ("deform_conv2d", _deform_conv2d)):
    _library.impl(_name, _function, "CompositeImplicitAutograd")
