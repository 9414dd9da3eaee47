"""torch.ao.quantization.fx: the ops that graphs of quantized programs are written in."""
