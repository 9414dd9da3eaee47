"""Calls of every function that the array API standard 2024.12 names, by the kinds of dtypes it defines.

A call is text, evaluated with `xp` (the namespace under test) and arrays made from one NumPy source:
x, y of shape (3, 4); v, w of shape (4,); s, a 0-d array; sq of shape (2, 3, 3), well conditioned; i, indices.
"""

BOOL, SIGNED, UNSIGNED = (
    ("bool",),
    ("int8", "int16", "int32", "int64"),
    ("uint8", "uint16", "uint32", "uint64"),
)
REAL, COMPLEX = ("float32", "float64"), ("complex64", "complex128")
INTEGER = SIGNED + UNSIGNED
ORDERED, FLOATING = INTEGER + REAL, REAL + COMPLEX
NUMERIC, ALL = ORDERED + COMPLEX, BOOL + ORDERED + COMPLEX


def each(dtypes, template, names):
    """The template with each name."""
    return [(name, dtypes, template.format(name)) for name in names.split()]


CALLS = [
    # elementwise
    *each(NUMERIC, "xp.{}(x)", "abs negative positive sign square"),
    *each(
        FLOATING,
        "xp.{}(x)",
        "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 "
        "reciprocal sin sinh sqrt tan tanh",
    ),
    *each(ORDERED, "xp.{}(x)", "ceil floor trunc"),
    *each(NUMERIC, "xp.{}(x)", "round isfinite isinf isnan"),
    *each(NUMERIC, "xp.{}(x)", "conj real"),
    *each(COMPLEX, "xp.{}(x)", "imag"),
    *each(REAL, "xp.{}(x)", "signbit"),
    *each(BOOL, "xp.{}(x)", "logical_not"),
    *each(BOOL + INTEGER, "xp.{}(x)", "bitwise_invert"),
    *[
        (f"{name} {kind}", dtypes, call.format(name))
        for kind, call in (
            ("arrays", "xp.{}(x, y)"),
            ("0-d", "xp.{}(x, s)"),
            ("broadcast", "xp.{}(x, v)"),
            ("number", "xp.{}(x, 2)"),
            ("number first", "xp.{}(2, x)"),
        )
        for names, dtypes in (
            ("add multiply subtract", NUMERIC),
            ("divide", FLOATING),
            ("pow", ORDERED),
            ("equal not_equal", NUMERIC),
            ("floor_divide remainder", ORDERED),
            ("greater greater_equal less less_equal", ORDERED),
            ("atan2 copysign hypot logaddexp nextafter", REAL),
            ("maximum minimum", ORDERED),
            ("bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift", INTEGER),
        )
        for name in names.split()
    ],
    *[
        (f"{name} {kind}", BOOL, f"xp.{name}({call})")
        for kind, call in (("arrays", "x, y"), ("number", "x, True"))
        for name in (
            "logical_and",
            "logical_or",
            "logical_xor",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "equal",
        )
    ],
    ("clip", ORDERED, "xp.clip(x, 1, 2)"),
    ("clip one", REAL, "xp.clip(x, max=0.5)"),
    # reductions
    *[
        (f"{name} {kind}", dtypes, f"xp.{name}(x{call})")
        for kind, call in (
            ("all", ""),
            ("axis", ", axis=1"),
            ("axes", ", axis=(0, 1)"),
            ("none", ", axis=()"),
            ("kept", ", axis=0, keepdims=True"),
            ("all kept", ", keepdims=True"),
        )
        for names, dtypes in (
            ("sum prod", NUMERIC),
            ("max min", ORDERED),
            ("mean std var", REAL),
            ("all any", ALL),
            ("count_nonzero", NUMERIC),
        )
        for name in names.split()
    ],
    ("var correction", REAL, "xp.var(x, correction=1.0)"),
    ("sum dtype", INTEGER, "xp.sum(x, dtype=xp.int64)"),
    *[
        (f"{name} {kind}", ORDERED, f"xp.{name}(x{call})")
        for name in ("argmax", "argmin")
        for kind, call in (("all", ""), ("axis", ", axis=1"), ("kept", ", axis=0, keepdims=True"))
    ],
    *[
        (f"{name} {kind}", NUMERIC, f"xp.{name}({call})")
        for name in ("cumulative_sum", "cumulative_prod")
        for kind, call in (
            ("only", "v"),
            ("axis", "x, axis=0"),
            ("initial", "x, axis=1, include_initial=True"),
        )
    ],
    # creation
    ("arange", ("float64",), "xp.arange(5)"),
    ("arange step", REAL + INTEGER, "xp.arange(1, 9, 3, dtype=D)"),
    ("arange nothing", ("float64",), "xp.arange(3, 1)"),
    ("eye", NUMERIC, "xp.eye(3, 4, k=1, dtype=D)"),
    ("full", NUMERIC, "xp.full((2, 3), 7, dtype=D)"),
    ("full int", NUMERIC, "xp.full(3, 7, dtype=D)"),
    ("ones", ALL, "xp.ones((2, 3), dtype=D)"),
    ("zeros", ALL, "xp.zeros(3, dtype=D)"),
    ("full_like", NUMERIC, "xp.full_like(x, 3)"),
    ("ones_like", ALL, "xp.ones_like(x)"),
    ("zeros_like", ALL, "xp.zeros_like(x)"),
    ("linspace", REAL, "xp.linspace(0, 1, 5, dtype=D)"),
    ("linspace open", REAL, "xp.linspace(0, 1, 5, dtype=D, endpoint=False)"),
    ("meshgrid", NUMERIC, "xp.meshgrid(v, w)"),
    ("meshgrid ij", NUMERIC, "xp.meshgrid(v, w, indexing='ij')"),
    ("tril", NUMERIC, "xp.tril(x, k=1)"),
    ("triu", NUMERIC, "xp.triu(sq, k=-1)"),
    ("asarray", ALL, "xp.asarray(x, dtype=D, copy=True)"),
    # shapes
    ("broadcast_to", ALL, "xp.broadcast_to(v, (2, 4))"),
    ("broadcast_arrays", ALL, "xp.broadcast_arrays(x, v)"),
    ("concat", ALL, "xp.concat([x, y], axis=1)"),
    ("concat flat", ALL, "xp.concat([x, v], axis=None)"),
    ("expand_dims", ALL, "xp.expand_dims(x, axis=1)"),
    ("flip", ALL, "xp.flip(x)"),
    ("flip axis", ALL, "xp.flip(x, axis=0)"),
    ("moveaxis", ALL, "xp.moveaxis(sq, 0, 2)"),
    ("permute_dims", ALL, "xp.permute_dims(sq, (2, 0, 1))"),
    ("repeat", ALL, "xp.repeat(x, 2, axis=1)"),
    ("repeat each", ALL, "xp.repeat(v, i)"),
    ("reshape", ALL, "xp.reshape(x, (2, 6), copy=True)"),
    ("roll", ALL, "xp.roll(x, 2)"),
    ("roll axes", ALL, "xp.roll(x, (1, 2), axis=(0, 1))"),
    ("squeeze", ALL, "xp.squeeze(x[:1, :], axis=0)"),
    ("stack", ALL, "xp.stack([x, y], axis=1)"),
    ("tile", ALL, "xp.tile(x, (2, 1, 2))"),
    ("unstack", ALL, "xp.unstack(x, axis=1)"),
    # searching, sorting, sets
    ("nonzero", ALL, "xp.nonzero(x)"),
    ("where", ALL, "xp.where(x == y, x, y)"),
    ("where number", REAL, "xp.where(x == y, x, 2.0)"),
    ("searchsorted", ORDERED, "xp.searchsorted(xp.sort(v), w, side='right')"),
    ("take", ALL, "xp.take(x, i, axis=1)"),
    ("take only", ALL, "xp.take(v, i)"),
    ("take_along_axis", ALL, "xp.take_along_axis(x, xp.reshape(i, (1, 4)), axis=0)"),
    ("sort", ORDERED, "xp.sort(x, axis=0)"),
    ("argsort", ORDERED, "xp.argsort(v, stable=True)"),
    *each(ORDERED + BOOL, "tuple(xp.{}(x))", "unique_all unique_counts unique_inverse"),
    ("unique_values", ORDERED, "xp.sort(xp.unique_values(x))"),
    ("diff", NUMERIC, "xp.diff(x, axis=0, n=2)"),
    ("diff append", NUMERIC, "xp.diff(v, append=w)"),
    # linear algebra
    ("matmul", NUMERIC, "xp.matmul(x, v)"),
    ("matrix_transpose", ALL, "xp.matrix_transpose(sq)"),
    ("tensordot", NUMERIC, "xp.tensordot(x, y, axes=((0,), (0,)))"),
    ("vecdot", NUMERIC, "xp.vecdot(x, y, axis=0)"),
    *each(
        FLOATING,
        "xp.linalg.{}(sq)",
        "cholesky det diagonal eigvalsh inv matrix_norm matrix_rank pinv svdvals",
    ),
    ("slogdet", FLOATING, "tuple(xp.linalg.slogdet(sq))"),
    ("eigh", FLOATING, "xp.linalg.eigh(sq).eigenvalues"),
    ("cross", NUMERIC, "xp.linalg.cross(sq[0, ...], sq[1, ...])"),
    ("outer", NUMERIC, "xp.linalg.outer(v, w)"),
    ("matrix_power", FLOATING, "xp.linalg.matrix_power(sq, 3)"),
    ("qr", FLOATING, "xp.matmul(*xp.linalg.qr(sq))"),
    ("svd", FLOATING, "xp.linalg.svd(sq).S"),
    ("solve", FLOATING, "xp.linalg.solve(sq, sq)"),
    ("trace", NUMERIC, "xp.linalg.trace(sq, offset=1)"),
    ("vector_norm", FLOATING, "xp.linalg.vector_norm(x, axis=(0, 1))"),
    ("vector_norm one", FLOATING, "xp.linalg.vector_norm(x, axis=1, keepdims=True, ord=1)"),
    # Fourier transforms
    *each(COMPLEX, "xp.fft.{}(x, axis=0)", "fft ifft hfft"),
    *each(REAL, "xp.fft.{}(x, n=3)", "rfft ihfft"),
    *each(COMPLEX, "xp.fft.{}(sq, axes=(0, 1))", "fftn ifftn irfftn"),
    ("irfft", COMPLEX, "xp.fft.irfft(x)"),
    ("rfftn", REAL, "xp.fft.rfftn(sq, axes=(0, 2), norm='ortho')"),
    ("fftfreq", REAL, "xp.astype(xp.fft.fftfreq(8, d=0.25), D)"),
    ("rfftfreq", REAL, "xp.astype(xp.fft.rfftfreq(8), D)"),
    *each(ALL, "xp.fft.{}(x, axes=1)", "fftshift ifftshift"),
    # dtypes
    ("astype", ALL, "xp.astype(v, xp.int64 if D not in (xp.complex64, xp.complex128) else D)"),
]
