"""numpy.linalg's functions over our arrays: they are computed by NumPy."""

import numpy as np

from rushlight._numpy._ndarray import functions_of

__getattr__ = functions_of(np.linalg)
