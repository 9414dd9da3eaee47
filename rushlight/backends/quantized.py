"""torch.backends.quantized: no library here computes with quantized tensors."""

engine = "none"
supported_engines = ["none"]
