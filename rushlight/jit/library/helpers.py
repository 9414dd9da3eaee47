"""Small functions of torch.nn.modules.utils, torch.nn.init and torch.backends, as TorchScript."""

from __future__ import annotations

import rushlight as torch
from rushlight import Generator, Tensor
from rushlight._jit_internal import BroadcastingList1, BroadcastingList2, BroadcastingList3, BroadcastingList4


class helpers:
    def _single(x: BroadcastingList1[int]) -> list[int]:
        return x

    def _single(x: BroadcastingList1[float]) -> list[float]:
        return x

    def _pair(x: BroadcastingList2[int]) -> list[int]:
        return x

    def _pair(x: BroadcastingList2[float]) -> list[float]:
        return x

    def _triple(x: BroadcastingList3[int]) -> list[int]:
        return x

    def _triple(x: BroadcastingList3[float]) -> list[float]:
        return x

    def _quadruple(x: BroadcastingList4[int]) -> list[int]:
        return x

    def _quadruple(x: BroadcastingList4[float]) -> list[float]:
        return x

    def _list_with_default(out_size: list[int], defaults: list[int]) -> list[int]:
        assert len(defaults) > len(out_size)
        return out_size

    def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
        with torch.no_grad():
            return tensor.fill_(val)

    def _no_grad_zero_(tensor: Tensor) -> Tensor:
        with torch.no_grad():
            return tensor.zero_()

    def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Generator | None = None) -> Tensor:
        with torch.no_grad():
            return tensor.uniform_(a, b, generator=generator)

    def _no_grad_normal_(
        tensor: Tensor, mean: float, std: float, generator: Generator | None = None
    ) -> Tensor:
        with torch.no_grad():
            return tensor.normal_(mean, std, generator=generator)

    def is_acceptable(tensor: Tensor) -> bool:
        return False
