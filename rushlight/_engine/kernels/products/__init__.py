"""Kernels of many multiplications: matrix products, convolution, attention, pooling."""
