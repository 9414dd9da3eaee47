"""torch.jit._passes: helpers of passes over graphs."""
