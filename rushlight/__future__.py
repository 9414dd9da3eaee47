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
    """Whether module.to(), its relatives and load_state_dict exchange all that a Parameter is (by
    torch.utils.swap_tensors; loading asks Tensor.module_load) instead of its data.
    """
    _chosen["swap"] = value


def get_swap_module_params_on_conversion() -> bool:
    """What set_swap_module_params_on_conversion was given."""
    return _chosen["swap"]
