"""torch.backends.mha: whether a TransformerEncoder in evaluation gives zeros at padded positions, as
PyTorch's kernel for whole layers does.
"""

from rushlight.backends.cuda import switch

get_fastpath_enabled, _set = switch("fastpath")


def set_fastpath_enabled(value: bool) -> None:
    """Let evaluation give zeros at padded positions (as at first), or not."""
    _set(value)
