"""torch.fx.experimental: names that programs catch."""
