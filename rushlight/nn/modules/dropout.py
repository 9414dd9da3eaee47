"""Dropout and its relatives: active in training mode only."""

from __future__ import annotations

from rushlight.nn.modules.function_module import FunctionModule, declared


class _DropoutNd(FunctionModule, function=None, p=0.5, inplace=False):
    _passed: tuple[str, ...] | None = ("p", "training", "inplace")

    def _post_init(self) -> None:
        if self.p < 0 or self.p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


globals().update(declared(__name__, _DropoutNd))
