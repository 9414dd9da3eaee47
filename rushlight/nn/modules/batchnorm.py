"""Batch normalisation over 1, 2 or 3 dims, and its lazy forms."""

from __future__ import annotations

from typing import Any

import rushlight as torch
from rushlight.nn import functional as F
from rushlight.nn.modules.function_module import members
from rushlight.nn.modules.lazy import LazyLayer, lazy_forms
from rushlight.nn.modules.normalization import _Affine
from rushlight.nn.modules.utils import register_empty
from rushlight.nn.parameter import UninitializedBuffer


class _NormBase(
    _Affine,
    function=None,
    num_features=int,
    eps=1e-5,
    momentum=0.1,
    affine=True,
    track_running_stats=True,
    device=None,
    dtype=None,
    bias=True,
):
    """Weight, bias and running statistics of one value for each channel."""

    _version = 2
    _keyword_only = ("bias",)
    _dims: int | None = None
    _takes: dict[int, tuple[int, ...]]  # by `_dims`: how many dims an input may have
    _shown = "num_features, eps=, momentum=, affine=, bias=, track_running_stats="
    momentum: float | None

    def _post_init(self, device: Any, dtype: Any, bias: bool) -> None:
        shape, tracked = self.num_features if self.affine else None, self.track_running_stats
        register_empty(self, device, dtype, weight=shape, bias=shape if bias else None)
        for name in ("running_mean", "running_var"):
            self.register_buffer(
                name, torch.empty(self.num_features, device=device, dtype=dtype) if tracked else None
            )
        self.register_buffer(
            "num_batches_tracked", torch.tensor(0, dtype=torch.long, device=device) if tracked else None
        )
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batch seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Any) -> None:
        if self._dims is None:
            raise NotImplementedError(f"{type(self).__name__} does not say which inputs it takes")
        takes = self._takes[self._dims]
        if input.dim() not in takes:
            wanted = " or ".join(f"{n}D" for n in takes)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def _modernise(self, state_dict: Any, prefix: str, version: int | None, error_msgs: list[str]) -> None:
        if (version is None or version < 2) and self.track_running_stats:
            # Version 1 did not count batches.
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                counted = self.num_batches_tracked
                known = counted is not None and not counted.is_meta
                state_dict[key] = counted if known else torch.tensor(0, dtype=torch.long)


class _BatchNorm(_NormBase):
    """Normalise each channel of (N, C, {space}), or in 1d of (N, C), over the batch.

    weight, bias: (num_features,), 1 and 0. In training with the batch's statistics, which move the
    running ones by `momentum` (None: a plain average); in evaluation with the running ones.
    """

    _takes = {1: (2, 3), 2: (4,), 3: (5,)}

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        tracked = self.track_running_stats
        if self.training and tracked and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # a plain average over all batches
                factor = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        use_running = not self.training or tracked
        return F.batch_norm(
            input,
            self.running_mean if use_running else None,
            self.running_var if use_running else None,
            self.weight,
            self.bias,
            by_batch,
            factor,
            self.eps,
        )


BatchNorm1d, BatchNorm2d, BatchNorm3d = members(_BatchNorm, 1, 2, 3)


class SyncBatchNorm(
    _BatchNorm,
    function=None,
    num_features=int,
    eps=1e-5,
    momentum=0.1,
    affine=True,
    track_running_stats=True,
    process_group=None,
    device=None,
    dtype=None,
    bias=True,
):
    """BatchNorm over the batches of all processes of a group, which PyTorch has for GPUs only: where there
    are process groups it raises PyTorch's error, else it is BatchNorm."""

    __constants__ = _NormBase.__constants__

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")
        if self.training and torch.distributed.is_initialized():
            raise ValueError("SyncBatchNorm expected input tensor to be on GPU or XPU or privateuseone")
        return super().forward(input)

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with every BatchNorm in it replaced by a SyncBatchNorm of the same state."""
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                if getattr(module, name) is not None:
                    setattr(result, name, getattr(module, name))
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class _LazyNormBase(LazyLayer):
    """Finds `num_features` at the first call: the size of dim 1."""

    _finds = "num_features"

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        # Nothing is allocated until the first input: num_features is 0.
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self._unsized(bias, device, dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.long, device=device)

    def _find(self, input: Any) -> int:
        return input.shape[1]

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (self.num_features,))


LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = lazy_forms(
    _LazyNormBase, BatchNorm1d, BatchNorm2d, BatchNorm3d
)
