"""What a real GPU is asked in one go: `python -m benchmarks.gpu` (see __main__.py)."""
