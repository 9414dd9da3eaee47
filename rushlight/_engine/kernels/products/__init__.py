"""Kernels of many multiplications: matrix products, convolution, attention, pooling.

Begin with gemm.py (which way a product goes) and tiles.py (products addressed by tables); files that end in
_code write the machine code of those beside them.
"""
