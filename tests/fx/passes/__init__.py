"""Tests of torch.fx.passes."""
