"""PyTorch's dispatcher below autograd: modes and classes that hear torch.ops.aten ops. Loaded when a __torch_dispatch__ is there."""
