"""What has neither tensors nor kernels: dtypes, devices, sizes, layout arithmetic, type promotion, settings, errors."""
