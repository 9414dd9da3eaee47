"""The parts of torch.utils.benchmark, under PyTorch's module names."""
