"""torch._dispatch: switches of PyTorch's dispatcher that programs turn."""
