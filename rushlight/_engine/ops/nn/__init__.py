"""Rows of torch.nn.functional: convolution, pooling, normalisation, attention, recurrence, losses."""
