"""Several transforms as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import rushlight as torch
from rushlight import nn
from rushlight_vision.transforms import transforms as v1
from rushlight_vision.transforms.v2._transform import Transform


class _Several(Transform):
    def __init__(self, transforms: Any) -> None:
        if not isinstance(transforms, (Sequence, nn.ModuleList)):
            raise TypeError("Argument transforms should be a sequence of callables")
        if not len(transforms):
            raise ValueError("Pass at least one transform")
        super().__init__()
        self.transforms: Any = transforms

    def _chosen(self) -> Iterable[Any]:
        every: Iterable[Any] = self.transforms
        return every

    def forward(self, *inputs: Any) -> Any:
        """The sample through those chosen."""
        several = len(inputs) > 1
        for transform in self._chosen():
            found = transform(*inputs)
            inputs = found if several else (found,)
        return inputs if several else inputs[0]

    def extra_repr(self) -> str:
        """One transform a line."""
        return "\n".join(f"    {transform}" for transform in self.transforms)


class Compose(_Several):
    """One after the other."""


class RandomApply(_Several):
    """All of them with probability p, else none."""

    _v1_transform_cls = v1.RandomApply

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        return {"transforms": self.transforms, "p": self.p}

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__(transforms)
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        self.p = p

    def _chosen(self) -> Iterable[Any]:
        return () if torch.rand(1) >= self.p else self.transforms


class RandomChoice(_Several):
    """One of them, with probabilities p (default: equal)."""

    def __init__(self, transforms: Any, p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        weights = [1] * len(transforms) if p is None else p
        if len(weights) != len(transforms):
            raise ValueError(
                f"Length of p doesn't match the number of transforms: {len(weights)} != {len(transforms)}"
            )
        self.p = [weight / sum(weights) for weight in weights]

    def _chosen(self) -> Iterable[Any]:
        return (self.transforms[int(torch.multinomial(torch.tensor(self.p), 1))],)

    def extra_repr(self) -> str:
        """The options."""
        return Transform.extra_repr(self)


class RandomOrder(_Several):
    """All of them, in a random order."""

    def _chosen(self) -> Iterable[Any]:
        return [self.transforms[k] for k in torch.randperm(len(self.transforms)).tolist()]

    def extra_repr(self) -> str:
        """The options."""
        return Transform.extra_repr(self)
