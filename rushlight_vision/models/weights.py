"""Trained weights by name: where they lie, and how images are brought to the form that they were trained on.

weights.tsv: builder, enum, name, file, crop (none where whole images are segmented), resize, interpolation,
parameters, "*" where it is the default.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, partial
from typing import Any

_URL = "https://download.pytorch.org/models/"
with open(os.path.join(os.path.dirname(__file__), "weights.tsv"), encoding="utf-8") as _file:
    _ROWS = [line.rstrip("\n").split("\t") for line in _file if not line.startswith("#")]


@dataclass
class Weights:
    """One set of weights: where it is, the transforms of its images, and what is known of it."""

    url: str
    transforms: Any
    meta: dict[str, Any] = field(default_factory=dict)


class WeightsEnum(Enum):
    """The weights of one model."""

    @classmethod
    def verify(cls, obj: Any) -> Any:
        """The entry that `obj` is or names; None for None; TypeError for another model's."""
        if obj is None or isinstance(obj, cls):
            return obj
        if isinstance(obj, str):
            return cls[obj.replace(cls.__name__ + ".", "")]
        raise TypeError(
            f"Invalid Weight class provided; expected {cls.__name__} but received {obj.__class__.__name__}."
        )

    def get_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The weights, from the hub's folder of checkpoints, fetched where they are not there yet."""
        from rushlight.hub import load_state_dict_from_url

        return load_state_dict_from_url(self.url, *args, **kwargs)

    @property
    def url(self) -> str:
        """Where the file is fetched from."""
        return str(self.value.url)

    @property
    def transforms(self) -> Any:
        """Makes the transforms of images for these weights."""
        return self.value.transforms

    @property
    def meta(self) -> dict[str, Any]:
        """What is known of these weights."""
        found: dict[str, Any] = self.value.meta
        return found

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}.{self._name_}"


def _weights(row: list[str]) -> Weights:
    from rushlight_vision.transforms import InterpolationMode
    from rushlight_vision.transforms._presets import ImageClassification, SemanticSegmentation

    _, _, file, crop, resize, interpolation, parameters, *_ = row
    made: Any = partial(ImageClassification, crop_size=int(crop)) if crop else SemanticSegmentation
    made = partial(made, resize_size=int(resize), interpolation=InterpolationMode(interpolation))
    return Weights(_URL + file, made, {"num_params": int(parameters)})


ENUMS = {row[1]: row[0] for row in _ROWS}
BUILDERS = {row[0]: row[1] for row in _ROWS}
_FILES: dict[str, list[list[str]]] = {}
for _row in _ROWS:
    _FILES.setdefault(_row[0], []).append([_row[0], *_row[2:]])


@cache
def enum(name: str) -> Any:
    """The enum of this name: ResNet18_Weights, ..."""
    rows = _FILES[ENUMS[name]]
    members = {row[1]: _weights(row) for row in rows}
    members["DEFAULT"] = members[next(row[1] for row in rows if row[-1] == "*")]
    make: Any = WeightsEnum  # calling an enum with members makes another
    return make(name, members, module="torchvision.models")


def of_builder(builder: str) -> Any:
    """The enum of a builder's weights."""
    return enum(BUILDERS[builder])
