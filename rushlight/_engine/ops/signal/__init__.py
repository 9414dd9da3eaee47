"""Rows of signal processing: Fourier transforms, spectrograms, window functions.

Begin with window_functions.py, then fourier.py (the ways of NumPy's transforms); spectrograms.py (stft,
istft) is written with the rows of both. Nothing here knows the public modules torch.fft and torch.signal.
"""
