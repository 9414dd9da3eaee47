"""An imitation of cuSOLVER's dense functions over a FakeDriver's memory: LAPACK's results, by NumPy.

Written from NVIDIA's manual: orders of arguments, matrices column by column, pivots from 1, what is overwritten.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rushlight._engine.devices.cuda.driver import solver
from tests.cuda.fake_driver import FakeDriver, taken

_WORK = 64
_KINDS = {0: np.float32, 1: np.float64, 4: np.complex64, 5: np.complex128}


class FakeSolver:
    """cusolverDn's functions. `calls` counts them; `refuses` has what they answer instead of success."""

    def __init__(self, driver: FakeDriver) -> None:
        self.driver, self.calls, self.stream = driver, Counter[str](), 0
        self.refuses: dict[str, int] = {}

    def __getattr__(self, name: str) -> Callable[..., int]:
        stem = name.removeprefix("cusolverDn")
        if stem == name:
            raise AttributeError(name)
        if stem == "Xgeev_bufferSize":
            return self._sizes
        if stem.endswith("_bufferSize"):
            return self._size
        if stem[0] == "X":
            return partial(self._geev, 0)
        of = np.dtype({"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}[stem[0]])
        body = getattr(type(self), "_" + stem[1:])

        def call(handle: int, *args: Any) -> int:
            self.calls[stem[1:]] += 1
            if handle != 7:
                return 1
            if stem[1:] in self.refuses:
                return self.refuses[stem[1:]]
            body(self, of, *args)
            return 0

        return call

    def cusolverDnCreate(self, place: Any) -> int:
        place._obj.value = 7
        return 1 if self.driver.unsafe() else 0

    def cusolverDnSetStream(self, handle: int, stream: int) -> int:
        self.stream = stream
        return 0

    def cusolverDnCreateParams(self, place: Any) -> int:
        place._obj.value = 9
        return 0

    def _sizes(self, handle: int, *args: Any) -> int:
        taken(solver.NEWER["cusolverDnXgeev_bufferSize"], (handle, *args))
        args[-2]._obj.value, args[-1]._obj.value = _WORK, _WORK
        return 0

    def _geev(self, _: int, handle: int, *args: Any) -> int:
        """Real matrices' eigenvalues are complex numbers here, and their vectors are packed as LAPACK does."""
        taken(solver.NEWER["cusolverDnXgeev"], (handle, *args))
        params, left, right, n, kind, a, lda, of_values, values, _, _, _, of_vr, vr, ldvr, compute = args[:16]
        room, size, here, more, info = args[16:]
        assert (params, left, size, more, of_vr, compute) == (9, 0, _WORK, _WORK, kind, kind) and len(
            here
        ) == _WORK
        assert len(self._array(room, size, np.dtype(np.uint8)))
        of, wide = (np.dtype(_KINDS[k]) for k in (kind, of_values))
        assert wide.kind == "c"
        m = self._matrix(a, n, n, lda, of)
        found, vectors = np.linalg.eig(m)
        self._array(values, n, wide)[:] = found
        if right:
            packed = vectors.copy() if of.kind == "c" else vectors.real.copy()
            for k in np.flatnonzero(found.imag > 0) if of.kind != "c" else ():
                packed[:, k + 1] = vectors[:, k].imag
            self._matrix(vr, n, n, ldvr, of)[:] = packed
        m[:] = np.nan
        self._told(info, 0)
        return 0

    def _size(self, handle: int, *args: Any) -> int:
        args[-1]._obj.value = _WORK
        return 0

    # --- memory -----------------------------------------------------------------------------------

    def _array(self, address: int, count: int, of: Any) -> Any:
        place = self.driver.place(address, count * of.itemsize)
        return np.frombuffer((ctypes.c_uint8 * (count * of.itemsize)).from_address(place), of)

    def _matrix(self, address: int, rows: int, columns: int, ld: int, of: Any) -> Any:
        flat = self._array(address, ld * columns, of)
        return flat.reshape(columns, ld).T[:rows]

    def _told(self, address: int, value: int) -> None:
        self._array(address, 1, np.dtype(np.int32))[0] = value

    # --- functions --------------------------------------------------------------------------------

    def _potrf(self, of: Any, uplo: int, n: int, a: int, lda: int, work: int, size: int, info: int) -> None:
        assert size == _WORK and len(self._array(work, size, of))
        m = self._matrix(a, n, n, lda, of)
        whole = np.triu(m) + np.triu(m, 1).T if uplo else np.tril(m) + np.tril(m, -1).T
        try:
            lower = np.linalg.cholesky(whole)
        except np.linalg.LinAlgError:
            self._told(info, 1)
            return
        keep = np.triu(np.ones((n, n), bool)) if uplo else np.tril(np.ones((n, n), bool))
        m[keep] = (lower.T if uplo else lower)[keep]
        self._told(info, 0)

    def _getrf(
        self, of: Any, rows: int, columns: int, a: int, lda: int, work: int, pivots: int, info: int
    ) -> None:
        m, found = self._matrix(a, rows, columns, lda, of), 0
        swaps = self._array(pivots, min(rows, columns), np.dtype(np.int32))
        for k in range(min(rows, columns)):
            p = k + int(np.abs(m[k:, k]).argmax())
            swaps[k] = p + 1
            if m[p, k] == 0:
                found = found or k + 1
                continue
            if p != k:
                m[[k, p]] = m[[p, k]]
            m[k + 1 :, k] /= m[k, k]
            m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
        self._told(info, found)

    def _getrs(
        self, of: Any, how: int, n: int, wide: int, a: int, lda: int, pivots: int, b: int, ldb: int, info: int
    ) -> None:
        lu, right = self._matrix(a, n, n, lda, of), self._matrix(b, n, wide, ldb, of)
        order = list(range(n))
        for k, p in enumerate(self._array(pivots, n, np.dtype(np.int32))):
            order[k], order[p - 1] = order[p - 1], order[k]
        lower, upper = np.tril(lu, -1) + np.eye(n, dtype=of), np.triu(lu)
        turned = np.eye(n, dtype=of)[order]  # turned @ A = lower @ upper
        whole = turned.T @ lower @ upper
        with np.errstate(all="ignore"):
            try:
                right[:] = np.linalg.solve(whole.T if how else whole, right)
            except np.linalg.LinAlgError:
                right[:] = np.inf
        self._told(info, 0)

    def _geqrf(
        self, of: Any, rows: int, columns: int, a: int, lda: int, tau: int, work: int, size: int, info: int
    ) -> None:
        m = self._matrix(a, rows, columns, lda, of)
        packed, scales = np.linalg.qr(m.astype(np.float64), mode="raw")
        m[:] = packed.T
        self._array(tau, min(rows, columns), of)[:] = scales
        self._told(info, 0)

    def _orgqr(
        self,
        of: Any,
        rows: int,
        wide: int,
        count: int,
        a: int,
        lda: int,
        tau: int,
        work: int,
        size: int,
        info: int,
    ) -> None:
        m, scales = self._matrix(a, rows, wide, lda, of), self._array(tau, count, of)
        q = np.eye(rows)
        for k in range(count):
            v = np.concatenate([np.zeros(k), [1.0], m[k + 1 :, k]])
            q = q - scales[k] * (q @ v)[:, None] * v
        m[:] = q[:, :wide]
        self._told(info, 0)

    def _syevd(
        self,
        of: Any,
        jobs: int,
        uplo: int,
        n: int,
        a: int,
        lda: int,
        values: int,
        work: int,
        size: int,
        info: int,
    ) -> None:
        m = self._matrix(a, n, n, lda, of)
        found, vectors = np.linalg.eigh(m, "U" if uplo else "L")
        self._array(values, n, of)[:] = found
        m[:] = vectors if jobs else np.nan
        self._told(info, 0)

    def _gesvd(
        self, of: Any, job: int, right: int, rows: int, columns: int, a: int, lda: int, values: int, u: int, ldu: int,
        vt: int, ldvt: int, work: int, size: int, more: int, info: int,
    ) -> None:  # fmt: skip
        assert rows >= columns, "cuSOLVER takes tall matrices alone"
        m = self._matrix(a, rows, columns, lda, of)
        left, found, last = np.linalg.svd(m, full_matrices=chr(job) == "A")
        self._array(values, columns, of)[:] = found
        if chr(job) != "N":
            self._matrix(u, rows, left.shape[1], ldu, of)[:] = left
            self._matrix(vt, columns, columns, ldvt, of)[:] = last
        m[:] = np.nan
        self._told(info, 0)
