"""Switches for behaviour that is to become the default one day (torch.__future__)."""
from __future__ import annotations

_overwrite_module_params_on_conversion = False
_swap_module_params_on_conversion = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether module.to() and its relatives make new Parameters instead of exchanging data."""
    global _overwrite_module_params_on_conversion
    _overwrite_module_params_on_conversion = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether module.to() and its relatives make new Parameters."""
    return _overwrite_module_params_on_conversion


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Accepted for PyTorch's programs; exchanging the data has the same effect here."""
    global _swap_module_params_on_conversion
    _swap_module_params_on_conversion = value


def get_swap_module_params_on_conversion() -> bool:
    """What set_swap_module_params_on_conversion was given."""
    return _swap_module_params_on_conversion
