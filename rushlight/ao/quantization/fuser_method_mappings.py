"""How layers that belong together become one module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight import nn
from rushlight.ao.nn import intrinsic as nni
from rushlight.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

_NORMS = {nn.Conv1d: nni.ConvBn1d, nn.Conv2d: nni.ConvBn2d, nn.Conv3d: nni.ConvBn3d}
_NORMS_RELU = {nn.Conv1d: nni.ConvBnReLU1d, nn.Conv2d: nni.ConvBnReLU2d, nn.Conv3d: nni.ConvBnReLU3d}
_RELU = {nn.Conv1d: nni.ConvReLU1d, nn.Conv2d: nni.ConvReLU2d, nn.Conv3d: nni.ConvReLU3d}


def _check(first: Any, *others: Any) -> None:
    if any(first.training != other.training for other in others):
        raise AssertionError("Conv and BN both must be in the same mode (train or eval).")


def _check_norm(size: int, bn: Any, what: str) -> None:
    if bn.num_features != size:
        raise AssertionError(f"{what} must match num_features of BatchNorm")
    if not bn.affine:
        raise AssertionError("Only support fusing BatchNorm with affine set to True")
    if not bn.track_running_stats:
        raise AssertionError("Only support fusing BatchNorm with tracking_running_stats set to True")


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Any:
    """To be trained: both, as one module; else one convolution."""
    _check(conv, bn)
    if not is_qat:
        return fuse_conv_bn_eval(conv, bn)
    _check_norm(conv.out_channels, bn, "Output channel of Conv2d")
    return _NORMS[type(conv)](conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Any:
    """To be trained: all three, as one module; else one convolution and relu."""
    _check(conv, bn, relu)
    if is_qat:
        _check_norm(conv.out_channels, bn, "Output channel of Conv2d")
        return _NORMS_RELU[type(conv)](conv, bn, relu)
    return _RELU[type(conv)](fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Any:
    """To be trained: both, as one module; else one linear layer."""
    _check(linear, bn)
    if not is_qat:
        return fuse_linear_bn_eval(linear, bn)
    _check_norm(linear.out_features, bn, "Output features of Linear")
    return nni.LinearBn1d(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Any:
    """One transposed convolution; not to be trained."""
    _check(convt, bn)
    if is_qat:
        raise Exception("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def _sequential_wrapper2(sequential: Any) -> Callable[..., Any]:
    def fuser_method(is_qat: bool, m1: Any, m2: Any) -> Any:
        """Both, as one module."""
        return sequential(m1, m2)

    return fuser_method


_DEFAULT_OP_LIST_TO_FUSER_METHOD: dict[tuple[Any, ...], Callable[..., Any]] = {
    (nn.Conv1d, nn.BatchNorm1d): fuse_conv_bn,
    (nn.Conv1d, nn.BatchNorm1d, nn.ReLU): fuse_conv_bn_relu,
    (nn.Conv2d, nn.BatchNorm2d): fuse_conv_bn,
    (nn.Conv2d, nn.BatchNorm2d, nn.ReLU): fuse_conv_bn_relu,
    (nn.Conv3d, nn.BatchNorm3d): fuse_conv_bn,
    (nn.Conv3d, nn.BatchNorm3d, nn.ReLU): fuse_conv_bn_relu,
    **{(conv, nn.ReLU): _sequential_wrapper2(kind) for conv, kind in _RELU.items()},
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
    (nn.Linear, nn.ReLU): _sequential_wrapper2(nni.LinearReLU),
    (nn.BatchNorm2d, nn.ReLU): _sequential_wrapper2(nni.BNReLU2d),
    (nn.BatchNorm3d, nn.ReLU): _sequential_wrapper2(nni.BNReLU3d),
    (nn.ConvTranspose1d, nn.BatchNorm1d): fuse_convtranspose_bn,
    (nn.ConvTranspose2d, nn.BatchNorm2d): fuse_convtranspose_bn,
    (nn.ConvTranspose3d, nn.BatchNorm3d): fuse_convtranspose_bn,
}


def get_fuser_method(op_list: Any, additional_fuser_method_mapping: Any = None) -> Callable[..., Any]:
    """How modules of these classes become one; AssertionError for others."""
    found: Callable[..., Any] | None = {
        **_DEFAULT_OP_LIST_TO_FUSER_METHOD,
        **(additional_fuser_method_mapping or {}),
    }.get(op_list)
    if found is None:
        raise AssertionError(f"did not find fuser method for: {op_list} ")
    return found
