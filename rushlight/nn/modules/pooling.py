"""Pooling over windows: maximum, average, p-norm, adaptive, fractional, and unpooling."""

from __future__ import annotations

from typing import Any

from rushlight.nn import functional as F
from rushlight.nn.modules.function_module import FunctionModule, declared, members
from rushlight.nn.modules.utils import _ntuple


class _Pool(FunctionModule, function=None):
    """Windows that follow one another unless `stride` says otherwise."""

    _shown = "kernel_size=, stride=, padding="
    # Whether a size given as one number is kept as one for each dim.
    _tuples = False

    def _post_init(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size
        for name in ("kernel_size", "stride", "padding") if self._tuples else ():
            setattr(self, name, _ntuple(self._dims)(getattr(self, name)))


class _MaxUnpoolNd(_Pool, function="max_unpool{}d", kernel_size=Any, stride=None, padding=0):
    """Put the values back where MaxPool{n}d's indices say; zeros elsewhere."""

    __constants__: list[str] = []
    _tuples = _members_init = True

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        return getattr(F, str(self._function))(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = members(_MaxUnpoolNd, 1, 2, 3)


class _FractionalMaxPoolNd(FunctionModule, function="fractional_max_pool{}d"):
    """Maximum over windows placed at random, so that the result of {images} has the wanted size or ratio."""

    _by_name = True
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _shown = ""

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        sizes = _ntuple(self._dims)
        self.kernel_size = sizes(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = sizes(output_size) if output_size is not None else None
        self.output_ratio = sizes(output_ratio) if output_ratio is not None else None
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


FractionalMaxPool2d, FractionalMaxPool3d = members(_FractionalMaxPoolNd, 2, 3)


globals().update(declared(__name__, _Pool))
