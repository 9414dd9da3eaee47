"""Trained weights by name: where they lie, and how images are brought to the form that they were trained on.

weights.tsv: builder, enum, name, file, preset (its transforms: `_PRESETS`), crop, resize, interpolation,
parameters, "*" where it is the default. categories.tsv: a data set and its classes, "|" between.
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

    def __eq__(self, other: object) -> bool:
        """Whether all is equal: enums find their members by it when they are read from a file."""
        if not isinstance(other, Weights):
            return NotImplemented
        mine, others = self.transforms, other.transforms
        if isinstance(mine, partial) and isinstance(others, partial):
            mine, others = ((t.func, t.args, t.keywords) for t in (mine, others))
        return (self.url, self.meta) == (other.url, other.meta) and bool(mine == others)


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


# Transforms by a preset's name: the class, and the normalisation where it is not the class's own.
_PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "classification": ("ImageClassification", {}),
    "segmentation": ("SemanticSegmentation", {}),
    "detection": ("ObjectDetection", {}),
    "flow": ("OpticalFlow", {}),
    "video": ("VideoClassification", {}),
    "video_centred": ("VideoClassification", {"mean": (0.45,) * 3, "std": (0.225,) * 3}),
    "video_imagenet": (
        "VideoClassification",
        {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)},
    ),
}
# Which classes the weights of a preset know, where the file's name does not say otherwise.
_SETS = {"classification": "imagenet", "segmentation": "voc", "detection": "coco"}


@cache
def _categories() -> dict[str, list[str]]:
    with open(os.path.join(os.path.dirname(__file__), "categories.tsv"), encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    return {name: names.split("|") for name, names in lines}


def _meta(row: list[str]) -> dict[str, Any]:
    builder, _, _, preset, _, _, _, parameters, *_ = row
    found: dict[str, Any] = {"num_params": int(parameters)}
    known = "kinetics" if preset.startswith("video") else _SETS.get(preset)
    if builder.startswith("keypointrcnn"):
        found["categories"] = ["no person", "person"]
        found["keypoint_names"] = _categories()["keypoints"]
    elif known is not None:
        found["categories"] = _categories()[known]
    return found


def _weights(row: list[str]) -> Weights:
    from rushlight_vision.transforms import InterpolationMode, _presets

    _, _, file, preset, crop, resize, interpolation, *_ = row
    name, options = _PRESETS[preset]
    made: Any = getattr(_presets, name)
    if name == "VideoClassification":
        sizes = tuple(int(n) for n in resize.split("x"))
        return Weights(
            _URL + file, partial(made, crop_size=(int(crop),) * 2, resize_size=sizes, **options), _meta(row)
        )
    made = partial(made, crop_size=int(crop)) if crop else made
    if resize:
        made = partial(made, resize_size=int(resize), interpolation=InterpolationMode(interpolation))
    return Weights(_URL + file, made, _meta(row))


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
    from rushlight_vision.models._api import HOMES  # which knows the builders by these enums

    home = HOMES.get(ENUMS[name])
    return make(
        name, members, module=f"rushlight_vision.models.{home}" if home else "rushlight_vision.models"
    )


def before(builder: str) -> Any:
    """The weights that `pretrained=True` has always meant: the oldest that are no one's own; None without."""
    found = [row[1] for row in _FILES[builder] if not row[1].endswith("LEGACY") and "SWAG" not in row[1]]
    return enum(BUILDERS[builder])[found[0]] if found else None


def of_builder(builder: str) -> Any:
    """The enum of a builder's weights."""
    return enum(BUILDERS[builder])
