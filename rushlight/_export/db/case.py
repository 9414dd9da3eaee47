"""torch._export.db.case: an example of what export() can do, or cannot do yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import rushlight as torch

__all__ = ["ExportCase", "SupportLevel"]


class SupportLevel(Enum):
    """Whether export() takes a program."""

    SUPPORTED = 1
    NOT_SUPPORTED_YET = 0


@dataclass(frozen=True)
class ExportCase:
    """A program with example inputs. extra_args: others that the exported program must take.

    ValueError where inputs are no tuple and no dict with names, or nothing is described.
    """

    example_args: tuple[Any, ...]
    description: str
    model: torch.nn.Module
    name: str
    example_kwargs: dict[str, Any] = field(default_factory=dict)
    extra_args: tuple[Any, ...] | None = None
    tags: set[str] = field(default_factory=set)
    support_level: SupportLevel = SupportLevel.SUPPORTED
    dynamic_shapes: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        for given in (self.example_args, self.extra_args):
            if given is not None and not isinstance(given, tuple):
                raise ValueError(f"Expecting args type to be a tuple, got: {type(given)}")
        if not isinstance(self.example_kwargs, dict):
            raise ValueError(f"Expecting kwargs type to be a dict, got: {type(self.example_kwargs)}")
        for key in self.example_kwargs:
            if not isinstance(key, str):
                raise ValueError(f"Expecting kwargs keys to be a string, got: {type(key)}")
        if not isinstance(self.description, str) or not self.description:
            raise ValueError(f'Invalid description: "{self.description}"')
