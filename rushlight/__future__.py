"""Switches for behaviour that is to become the default one day (torch.__future__)."""

from __future__ import annotations

_chosen = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether module.to() and its relatives make new Parameters instead of exchanging data."""
    _chosen["overwrite"] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether module.to() and its relatives make new Parameters."""
    return _chosen["overwrite"]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Accepted for PyTorch's programs; exchanging the data has the same effect here."""
    _chosen["swap"] = value


def get_swap_module_params_on_conversion() -> bool:
    """What set_swap_module_params_on_conversion was given."""
    return _chosen["swap"]
