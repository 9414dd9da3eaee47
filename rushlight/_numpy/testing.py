"""numpy.testing's functions over our arrays, of which they get NumPy's own."""

import numpy as np

from rushlight._numpy._ndarray import functions_of

__getattr__ = functions_of(np.testing)
