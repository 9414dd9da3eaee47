"""PyTorch's file formats both ways, and safetensors."""
