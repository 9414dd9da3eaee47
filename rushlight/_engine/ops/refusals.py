"""What rows refuse, in PyTorch's words."""

from __future__ import annotations

ONE_BOOL_SUB = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
    "invert a mask, use the `~` or `logical_not()` operator instead."
)


def not_for(kernel: str, *kinds: str) -> dict[str, str]:
    """PyTorch's refusal of the kinds of dtypes that it has no kernel for."""
    return dict.fromkeys(kinds, f"\"{kernel}\" not implemented for '{{dtype}}'")
