"""torch._utils_internal: switches of PyTorch's own services, which are at their defaults."""

from __future__ import annotations


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
