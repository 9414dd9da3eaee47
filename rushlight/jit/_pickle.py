"""torch.jit._pickle: what pickles in archives of TorchScript call, where Python reads them."""

from __future__ import annotations

from typing import Any


def build_intlist(data: list[int]) -> list[int]:
    """The list."""
    return data


def build_tensorlist(data: list[Any]) -> list[Any]:
    """The list."""
    return data


def build_doublelist(data: list[float]) -> list[float]:
    """The list."""
    return data


def build_boollist(data: list[bool]) -> list[bool]:
    """The list."""
    return data


def build_tensor_from_id(data: Any) -> Any:
    """A tensor that is told by a number: the number."""
    return data


def restore_type_tag(value: Any, type_str: str) -> Any:
    """The list or dict; of what type is of no matter in Python."""
    return value


__all__ = [
    "build_boollist",
    "build_doublelist",
    "build_intlist",
    "build_tensor_from_id",
    "build_tensorlist",
    "restore_type_tag",
]
