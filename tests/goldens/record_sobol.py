"""Records the numbers that Sobol sequences start from, as PyTorch's engine has them: rushlight/_engine/numerics/sobol.npz.

    python tests/goldens/record_sobol.py

The state of an engine is, for each dimension, 30 direction numbers. They follow from the first few by a recurrence,
whose length is the degree of a primitive polynomial; its coefficients are read off the state, lowest first.
"""

from pathlib import Path

import numpy as np
import torch

BITS = 30
DEGREES = np.repeat(
    np.arange(1, 19), [1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800, 2048, 7710, 7776]
)
state = torch.quasirandom.SobolEngine(torch.quasirandom.SobolEngine.MAXDIM).sobolstate.numpy()
m = state >> (BITS - 1 - np.arange(BITS))
assert len(m) == len(DEGREES) + 1 and (m[0] == 1).all(), "the first dimension is van der Corput's"
m = m[1:].astype(np.uint32)
polynomials = np.zeros(len(m), np.uint32)
for s in range(1, 19):
    rows = np.flatnonzero(DEGREES == s)
    rest = m[rows, s] ^ (m[rows, 0] << s) ^ m[rows, 0]
    for i in range(1, s):
        coefficient = rest >> i & 1
        polynomials[rows] |= (coefficient << i).astype(np.uint32)
        rest = rest ^ (coefficient * (m[rows, s - i] << i))
    assert not rest.any(), s
bits = [(m[row, j] >> i) & 1 for row in range(len(m)) for j in range(DEGREES[row]) for i in range(1, j + 1)]
np.savez_compressed(
    Path(__file__).parents[2] / "rushlight" / "_engine" / "numerics" / "sobol.npz",
    degrees=DEGREES.astype(np.uint8),
    polynomials=polynomials,
    first=np.packbits(np.array(bits, np.uint8)),
)
