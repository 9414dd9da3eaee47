"""torch.classes: classes of compiled extensions, by namespace. There are none: extensions are PyTorch's."""

from __future__ import annotations

from types import ModuleType

from rushlight.ops import load_library, loaded_libraries


class _ClassNamespace(ModuleType):
    """torch.classes.NAME."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        space = self.__name__.removeprefix("torch.classes.")
        raise RuntimeError(
            f"Tried to instantiate class '{space}.{name}', but it does not exist! Ensure that it is "
            "registered via torch::class_"
        )


class _Classes(ModuleType):
    """torch.classes."""

    __file__ = "_classes.py"
    loaded_libraries = property(lambda self: loaded_libraries)
    load_library = staticmethod(load_library)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        space = self.__dict__[name] = _ClassNamespace(f"torch.classes.{name}")
        return space


classes = _Classes("torch.classes")
