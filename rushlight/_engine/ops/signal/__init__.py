"""Rows of signal processing: Fourier transforms, spectrograms, window functions."""
