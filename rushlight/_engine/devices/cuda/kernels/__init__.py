"""Kernels of a CUDA device: written once from what they mean, for NVIDIA's machines and for the simulator."""
