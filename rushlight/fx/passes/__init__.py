"""torch.fx.passes: walks over graphs."""
