"""torchvision.models.segmentation: networks that say of each pixel what it belongs to.

Builders take, beside what those of `torchvision.models` take, `weights_backbone=`: weights of the classifier
that the features come from, which are fetched unless `weights` or None is given; and `aux_loss=`.
"""

from __future__ import annotations

from typing import Any

from rushlight_vision.models import _api, weights as _weights

_HERE = {name: home for name, home in _api.HOMES.items() if home.startswith("segmentation.")}
_ENUMS = sorted(kind for kind, builder in _weights.ENUMS.items() if builder in _HERE)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _ENUMS:
        return _weights.enum(name)
    if name not in _HERE:
        raise AttributeError(
            f"module 'torchvision.models.segmentation' has no attribute {name!r}; there are "
            f"{', '.join(sorted(_HERE))}"
        )
    found = globals()[name] = getattr(import_module(f"rushlight_vision.models.{_HERE[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted([*_HERE, *_ENUMS])
