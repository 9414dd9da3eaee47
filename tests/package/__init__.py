"""torch.package."""
