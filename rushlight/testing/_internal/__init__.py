"""torch.testing._internal: what other projects' tests take of PyTorch's own test suite."""
