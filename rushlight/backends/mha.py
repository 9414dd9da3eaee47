"""torch.backends.mha: whether a TransformerEncoder in evaluation gives zeros at padded positions, as
PyTorch's kernel for whole layers does."""
_enabled = [True]


def get_fastpath_enabled() -> bool:
    """As it was set; True at first."""
    return _enabled[0]


def set_fastpath_enabled(value: bool) -> None:
    """Set it."""
    _enabled[0] = value
