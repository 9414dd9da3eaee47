"""torch.fx.passes.dialect.common: passes that look at nothing but what nodes read."""
