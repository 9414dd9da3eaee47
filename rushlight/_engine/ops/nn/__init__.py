"""Rows of torch.nn.functional: convolution, pooling, normalisation, attention, recurrence, losses.

Begin with softmax.py (a meaning in other rows, and a kernel that does it in one pass), then normalization.py
(the same with several results) and pooling.py (windows). Rows know tensors and numbers, no layers and no
modules: those are rushlight/nn.
"""
