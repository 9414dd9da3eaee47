"""The two ways to read a pickle: as data only, or trusting whoever wrote it."""

from __future__ import annotations

import pickle
from typing import Any

from rushlight._engine.serialization.names import is_torch, path, resolve
from rushlight._engine.serialization.unpickler import Load, WeightsUnpickler

TRUSTED = (
    "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution. Do it only if you got the file from a trusted source."
)
_REMEDY = (
    "Weights only load failed. {advice}\n\t{reason}\n\nOnly tensors, numbers, text and plain "
    "containers are read with weights_only=True. See the documentation of torch.load."
)
_ADVICE_GLOBAL = (
    "This file can still be loaded, to do so you have two options, \033[1mdo those steps only if you "
    "trust the source of the checkpoint\033[0m. \n\t(1) " + TRUSTED + "\n\t(2) Alternatively, to load with "
    "`weights_only=True` please check the recommended steps in the following error message."
)
_ADVICE_OTHER = (
    "The file is damaged, or holds more than weights. Re-running `torch.load` with "
    "`weights_only` set to `False` can help in the second case, but it can result in arbitrary "
    "code execution. Do it only if you got the file from a trusted source."
)


def weights_only_error(error: pickle.UnpicklingError) -> pickle.UnpicklingError:
    """The error that tells what to do about a file that the restricted reader refused."""
    reason = f"WeightsUnpickler error: {error}"
    unlisted = str(error).startswith("Unsupported global")
    advice = _ADVICE_GLOBAL if unlisted else _ADVICE_OTHER
    return pickle.UnpicklingError(_REMEDY.format(advice=advice, reason=reason))


def load_weights(data: bytes, persistent_load: Load, encoding: str = "utf-8") -> tuple[Any, int]:
    """The object of an untrusted pickle and where the pickle ends."""
    unpickler = WeightsUnpickler(data, persistent_load, encoding)
    try:
        return unpickler.load(), unpickler.position
    except pickle.UnpicklingError as error:
        raise weights_only_error(error) from None


def trusting_unpickler(pickle_module: Any, persistent_load: Load) -> type:
    """A class of `pickle_module.Unpickler` that finds torch.* names in Rushlight.

    It runs whatever the file asks for: only for files from people you trust.
    """

    class Unpickler(pickle_module.Unpickler):  # type: ignore[misc]
        def find_class(self, module: str, name: str) -> Any:
            return resolve(module, name) if is_torch(module) else super().find_class(module, name)

        def persistent_load(self, key: Any) -> Any:
            return persistent_load(key)

    return Unpickler


def globals_of(data: bytes) -> set[tuple[str, str, str]]:
    """(path, module, name) of all globals in a pickle, without loading it."""
    import pickletools

    found: set[tuple[str, str, str]] = set()
    texts: list[str] = []
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            module, name = str(argument).split(" ", 1)
            found.add((path(module, name), module, name))
        elif opcode.name == "STACK_GLOBAL" and len(texts) >= 2:
            found.add((path(texts[-2], texts[-1]), texts[-2], texts[-1]))
        elif isinstance(argument, str):
            texts.append(argument)
    return found
