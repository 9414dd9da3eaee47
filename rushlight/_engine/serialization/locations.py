"""Where loaded storages go: the device a file names, as `map_location` changes it.

A package for another device registers how to name its storages and how to bring them back
(`register_package`); the CPU and the meta device are registered here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight._engine.core import accelerator
from rushlight._engine.core.device import device
from rushlight._engine.serialization.rebuild import make_cuda_storage, make_meta_storage

Tagger = Callable[[Any], str | None]
Restorer = Callable[[Any, str], Any]

_packages: list[tuple[int, Tagger, Restorer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Restorer) -> None:
    """Teach save and load a device; lower priorities are asked first.

    tagger(storage) gives the storage's location in files, or None where it is not its kind;
    deserializer(storage, location) gives the storage at that place, or None likewise.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """The name of a storage's device in files; RuntimeError where no package knows it."""
    for _, tagger, _ in _packages:
        found = tagger(storage)
        if found:
            return found
    raise RuntimeError(f"don't know how to determine data location of {_type_name(storage)}")


def default_restore_location(storage: Any, location: str) -> Any:
    """The storage at `location` ("cpu", "cuda:0", ...); RuntimeError where that is impossible."""
    for _, _, deserializer in _packages:
        found = deserializer(storage, location)
        if found is not None:
            return found
    raise RuntimeError(
        f"don't know how to restore data location of {_type_name(storage)} (tagged "
        f"with {location}); give map_location='cpu' to load it into memory"
    )


def _type_name(storage: Any) -> str:
    return f"torch.storage.{type(storage).__name__}"


def restorer(map_location: Any) -> Restorer:
    """What `map_location` means, as a function (storage, location) -> storage."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(
            storage, str(map_location.get(location, location))
        )
    if isinstance(map_location, (str, bytes, device)):
        target = map_location.decode() if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: default_restore_location(storage, target)
    if not callable(map_location):
        raise TypeError(
            f"map_location: expected None, a device, a string, a dict or a function (storage, "
            f"location) -> storage, got {type(map_location).__name__}, which is not callable"
        )

    def restore(storage: Any, location: str) -> Any:
        found = map_location(storage, location)
        return default_restore_location(storage, location) if found is None else found

    return restore


def is_meta(map_location: Any) -> bool:
    """Whether everything goes to the meta device, so that no data need be read."""
    return isinstance(map_location, (str, device)) and str(map_location) == "meta"


def validate_cuda_device(location: str) -> int:
    """The number in "cuda:1", or of the current device; RuntimeError where there is no such device."""
    platform = accelerator.platform()
    if platform is not None:
        index = device(location).index
        index = platform.current if index is None else index
        if index >= platform.count:
            raise RuntimeError(
                f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is "
                f"{platform.count}. Please use torch.load with map_location to map your storages to an "
                "existing device."
            )
        return int(index)
    raise RuntimeError(
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
        "False. If you are running on a CPU-only machine, please use torch.load with "
        "map_location=torch.device('cpu') to map your storages to the CPU."
    )


def _tag(kind: str) -> Tagger:
    return lambda storage: str(storage.device) if storage.device.type == kind else None


register_package(10, _tag("cpu"), lambda storage, location: storage if location == "cpu" else None)
register_package(
    20,
    _tag("cuda"),
    lambda storage, location: (
        make_cuda_storage(storage, validate_cuda_device(location)) if location.startswith("cuda") else None
    ),
)
register_package(
    22,
    _tag("meta"),
    lambda storage, location: make_meta_storage(storage.nbytes()) if location == "meta" else None,
)
