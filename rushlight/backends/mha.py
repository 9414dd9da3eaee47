"""torch.backends.mha: whether a TransformerEncoder in evaluation gives zeros at padded positions, as
PyTorch's kernel for whole layers does.
"""

from rushlight.backends.cuda import switch

get_fastpath_enabled, set_fastpath_enabled = switch("fastpath")
