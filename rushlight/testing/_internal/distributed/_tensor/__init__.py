"""torch.testing._internal.distributed._tensor: what tests of DTensor are made of."""
