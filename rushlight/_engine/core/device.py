"""Devices: where a tensor's memory is. The engine runs on "cpu" and (shapes only) "meta"."""

from __future__ import annotations

from typing import Any

from rushlight._engine.core import accelerator
from rushlight._engine.core.recording import switched
from rushlight._engine.lazy import package

# As PyTorch lists them.
_TYPES = (
    "cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia "
    "privateuseone"
).split()


def accelerator_named(index: int) -> str:
    """The kind of device that a bare number means; RuntimeError where there is none beside the CPU."""
    if index >= 0 and accelerator.platform() is None:
        raise RuntimeError(
            f"Cannot access accelerator device when none is available: {index} alone is the number of "
            "a GPU; use device='cpu', or pick it by torch.accelerator.is_available()"
        )
    return "cuda"


class device:
    """device("cpu"), device("cuda:0"), device("cuda", 0): a type and an index or None."""

    __module__ = package()
    __slots__ = ("type", "index")
    type: str
    index: int | None

    def __init__(self, type: Any = None, index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index if index is None else index
        if isinstance(type, int) and not isinstance(type, bool):
            type, index = accelerator_named(type), type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str or device, not {type.__class__.__name__}")
        name, colon, number = type.partition(":")
        if colon:
            if index is not None:
                raise RuntimeError(
                    f"type (string) must not include an index because index was passed explicitly: {type}"
                )
            if not number.isdigit() or (number[0] == "0" and number != "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        if name not in _TYPES and not name.replace("_", "a").isalpha():
            raise RuntimeError(
                f"Invalid device string: '{type}'" if type else "Device string must not be empty"
            )
        if index is not None and not isinstance(index, int):
            raise TypeError(
                f"device(): argument 'index' (position 2) must be int, not {index.__class__.__name__}"
            )
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        if name not in _TYPES:
            raise RuntimeError(
                f"Expected one of {', '.join(_TYPES)} device type at start of device string: {name}"
            )
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, device) and self.index == other.index and self.type == other.type
        )

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        extra = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{extra})"

    def __enter__(self) -> device:
        _outer.append(Default.value)
        Default.set(self)
        return self

    def __exit__(self, *raised: object) -> None:
        Default.set(_outer.pop())

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type,) if self.index is None else (self.type, self.index)


class Default:
    """The device of new tensors; `with device(...)` and set_default_device change it."""

    value: device

    @classmethod
    def set(cls, value: device) -> None:
        """Change it."""
        if value is cls.value:
            return
        with switched("the default device"):
            cls.value = value


_outer: list[device] = []
CPU = Default.value = device("cpu")
META = device("meta")
