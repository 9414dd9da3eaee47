"""Instance normalisation: each channel of each sample by its own statistics."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core.callers import warn
from rushlight.nn import functional as F
from rushlight.nn.modules.batchnorm import _LazyNormBase, _NormBase
from rushlight.nn.modules.function_module import members
from rushlight.nn.modules.lazy import lazy_forms


class _InstanceNorm(
    _NormBase,
    function=None,
    num_features=int,
    eps=1e-5,
    momentum=0.1,
    affine=False,
    track_running_stats=False,
    device=None,
    dtype=None,
    bias=True,
):
    """Normalise each channel of {images} by itself.

    `affine`: weight and bias (num_features,), 1 and 0. `track_running_stats`: in evaluation use
    the running statistics instead of the sample's.
    """

    _takes = {1: (2, 3), 2: (3, 4), 3: (4, 5)}
    momentum: float

    def _get_no_batch_dim(self) -> int:
        return self._takes[self._dims][0]

    def _apply_instance_norm(self, input: Any) -> Any:
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

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        feature_dim = input.dim() - self._get_no_batch_dim()
        if input.size(feature_dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={feature_dim} to match num_features"
                    f" ({self.num_features}), but got: {input.size(feature_dim)}."
                )
            warn(
                f"input's size at dim={feature_dim} does not match num_features. You can "
                "silence this warning by not passing in num_features, which is not used "
                "because affine=False"
            )
        if input.dim() == self._get_no_batch_dim():
            return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_instance_norm(input)


def _unexpected_stats(names: list[str], klass: str) -> str:
    return (
        f"Unexpected running stats buffer(s) {' and '.join(f'{chr(34)}{n}{chr(34)}' for n in names)}"
        f" for {klass} with track_running_stats=False. If state_dict is a checkpoint saved before "
        f"0.4.0, this may be expected because {klass} does not track running stats by default "
        "since 0.4.0. Please remove these keys from state_dict. If the running stats are actually "
        f"needed, instead set track_running_stats=True in {klass} to enable them. See the "
        f"documentation of {klass} for details."
    )


InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = members(_InstanceNorm, 1, 2, 3)
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = lazy_forms(
    _LazyNormBase, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
)
