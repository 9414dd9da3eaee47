"""What has neither tensors nor kernels: dtypes, devices, sizes, layouts, promotion, settings, errors.

Begin with dtype.py, layout.py (sizes, strides, offsets) and promotion.py; backend.py is what a device beside
the CPU must answer. Nothing here knows the op table.
"""
