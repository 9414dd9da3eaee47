"""torch.fx.passes.infra: what passes are, and who runs them."""
