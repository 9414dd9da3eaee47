"""Instance normalisation: each channel of each sample by its own statistics."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight._engine.core.callers import warn
from rushlight.nn import functional as F
from rushlight.nn.modules.batchnorm import _LazyNormBase, _NormBase
from rushlight.types import Device

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    """The base of instance normalisation over 1, 2 and 3 dims: its defaults and its forward."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} does not say how many dims a sample has")

    def _handle_no_batch_input(self, input: Tensor) -> Tensor:
        return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )

    def _modernise(self, state_dict: Any, prefix: str, version: int | None, error_msgs: list[str]) -> None:
        if version is None and not self.track_running_stats:
            running = [name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if running:
                error_msgs.append(_unexpected_stats(running, type(self).__name__))
                for name in running:
                    state_dict.pop(prefix + name)
        super()._modernise(state_dict, prefix, version, error_msgs)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        feature_dim = input.dim() - self._get_no_batch_dim()
        if input.size(feature_dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={feature_dim} to match num_features"
                    f" ({self.num_features}), but got: {input.size(feature_dim)}."
                )
            warn(
                f"input's size at dim={feature_dim} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False"
            )
        if input.dim() == self._get_no_batch_dim():
            return self._handle_no_batch_input(input)
        return self._apply_instance_norm(input)


def _unexpected_stats(names: list[str], klass: str) -> str:
    return (
        f"Unexpected running stats buffer(s) {' and '.join(f'{chr(34)}{n}{chr(34)}' for n in names)} for "
        f"{klass} with track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this may "
        f"be expected because {klass} does not track running stats by default since 0.4.0. Please remove "
        "these keys from state_dict. If the running stats are actually needed, instead set "
        f"track_running_stats=True in {klass} to enable them. See the documentation of {klass} for details."
    )


class InstanceNorm1d(_InstanceNorm):
    """Normalise each channel of (N, C, L) or (C, L) by itself.

    `affine`: weight and bias (num_features,), 1 and 0. `track_running_stats`: in evaluation use
    the running statistics instead of the sample's.
    """

    def _get_no_batch_dim(self) -> int:
        return 2

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class InstanceNorm2d(_InstanceNorm):
    """Normalise each channel of (N, C, H, W) or (C, H, W) by itself.

    `affine`: weight and bias (num_features,), 1 and 0. `track_running_stats`: in evaluation use
    the running statistics instead of the sample's.
    """

    def _get_no_batch_dim(self) -> int:
        return 3

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (3, 4):
            raise ValueError(f"expected 3D or 4D input (got {input.dim()}D input)")


class InstanceNorm3d(_InstanceNorm):
    """Normalise each channel of (N, C, D, H, W) or (C, D, H, W) by itself.

    `affine`: weight and bias (num_features,), 1 and 0. `track_running_stats`: in evaluation use
    the running statistics instead of the sample's.
    """

    def _get_no_batch_dim(self) -> int:
        return 4

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (4, 5):
            raise ValueError(f"expected 4D or 5D input (got {input.dim()}D input)")


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """InstanceNorm1d that finds `num_features` at its first call, and is an InstanceNorm1d from then on."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """InstanceNorm2d that finds `num_features` at its first call, and is an InstanceNorm2d from then on."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """InstanceNorm3d that finds `num_features` at its first call, and is an InstanceNorm3d from then on."""

    cls_to_become = InstanceNorm3d
