"""PyTorch's dispatcher below autograd: modes and classes that hear `torch.ops.aten` ops
(`__torch_dispatch__`)."""
