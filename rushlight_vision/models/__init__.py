"""torchvision.models: convolutional networks and transformers that classify images; in packages of their own
those that segment them, and that detect what is in them.

Each builder takes `weights=` (an entry of its weights' enum, that entry's name, "DEFAULT", or None),
`progress=`, and what its class takes. Weights are read from the hub's folder of checkpoints, or fetched
into it.
"""

from __future__ import annotations

import sys
from typing import Any

from rushlight_vision._packages import NamesakePackage
from rushlight_vision.models import _api, weights as _weights
from rushlight_vision.models._api import (
    Weights,
    WeightsEnum,
    get_model,
    get_model_builder,
    get_model_weights,
    get_weight,
    list_models,
)

__all__ = [
    "Weights",
    "WeightsEnum",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "list_models",
]
sys.modules[__spec__.name].__class__ = NamesakePackage  # `models.alexnet` is the function
_HERE = {name: home for name, home in _api.HOMES.items() if "." not in home}
_ENUMS = [kind for kind, builder in _weights.ENUMS.items() if "." not in _api.HOMES.get(builder, "")]
__all__ += [*_HERE, *_ENUMS]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _ENUMS:
        return _weights.enum(name)
    home = _HERE.get(name)
    if home is None:
        return import_module("rushlight._engine.names.alternatives").attribute(__name__, name)
    module = import_module(f"{__name__}.{home}")
    # A family may have the name of its one builder, which then is what programs mean.
    found = globals()[name] = getattr(module, name, module)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
