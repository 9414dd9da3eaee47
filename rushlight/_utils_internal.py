"""torch._utils_internal: switches of PyTorch's own services, which are at their defaults."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

torch_parent = str(Path(__file__).resolve().parent.parent)  # the folder that holds the package


def justknobs_check(name: str, default: bool = True) -> bool:
    """The default."""
    return default


def justknobs_feature(
    name: str, config_value: bool | None = None, env_name: str | None = None, default: bool = True
) -> bool:
    """What is set, else the default."""
    return default if config_value is None else config_value


def signpost_event(category: str, name: str, parameters: dict[str, object]) -> None:
    """Nothing is told to anybody."""


def log_export_usage(**kwargs: object) -> None:
    """Nothing is told to anybody."""


def get_file_path(*path_components: str) -> str:
    """A path below the folder that holds the package."""
    return os.path.join(torch_parent, *path_components)


def get_file_path_2(*path_components: str) -> str:
    """The parts of a path, joined."""
    return os.path.join(*path_components)


def get_writable_path(path: str) -> str:
    """The path, where it can be written to, else a new folder for temporary files."""
    return path if os.access(path, os.W_OK) else tempfile.mkdtemp(suffix=os.path.basename(path))


def prepare_multiprocessing_environment(path: str) -> None:
    """Nothing has to be prepared."""


def resolve_library_path(path: str) -> str:
    """The path, with links followed."""
    return os.path.realpath(path)
