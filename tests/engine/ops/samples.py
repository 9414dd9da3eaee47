"""Arguments for rows whose kinds do not tell them: views, contractions, composites, opaque rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_rng = np.random.default_rng(7)


def N(*shape):
    """Normal data."""
    return _rng.normal(size=shape)


def U(low, high, *shape):
    """Uniform data."""
    return _rng.uniform(low, high, size=shape)


def I(high, *shape):  # noqa: E743
    """Indices below high."""
    return _rng.integers(0, high, size=shape)


@dataclass(frozen=True)
class Sample:
    """One call. smooth: gradients exist around the arguments; twice: second ones too."""

    name: str
    arguments: tuple[tuple[str, Any], ...]
    smooth: bool = True
    twice: bool = True
    meta: bool = True


def S(name="plain", *, smooth=True, twice=True, meta=True, **arguments):
    """A sample from keywords."""
    return Sample(name, tuple(arguments.items()), smooth, twice, meta)


def P(*shape):
    """Matrices with a safe inverse: dominated by their diagonals, no two eigenvalues alike."""
    n = shape[-1]
    return 0.3 * _rng.normal(size=shape) + np.eye(n) * (2 + np.arange(n))


SAMPLES: dict[str, list[Sample]] = {
    # views
    "transpose": [S(input=N(2, 3, 4), dim0=0, dim1=-1)],
    "permute": [S(input=N(2, 3, 4), dims=(2, 0, 1))],
    "t": [S(input=N(2, 3))],
    "select": [S(input=N(3, 4), dim=1, index=-2)],
    "slice": [S(input=N(5, 4), dim=0, start=1, end=5, step=2)],
    "squeeze": [S(input=N(1, 3, 1), dim=0), S("all", input=N(1, 3, 1))],
    "unsqueeze": [S(input=N(2, 3), dim=1)],
    "expand": [S(input=N(3, 1), size=(2, 3, 4))],
    "diagonal": [S(input=N(3, 4), offset=1), S("below", input=N(2, 4, 3), offset=-1, dim1=1, dim2=2)],
    "unfold": [S(input=N(2, 7), dimension=1, size=3, step=2)],
    "reshape": [S(input=N(2, 6), shape=(3, 4))],
    "flatten": [S(input=N(2, 3, 4), start_dim=1)],
    "movedim": [S(input=N(2, 3, 4), source=0, destination=2)],
    "narrow": [S(input=N(3, 5), dim=1, start=1, length=3)],
    # products
    "mm": [S(input=N(2, 3), mat2=N(3, 4))],
    "bmm": [S(input=N(2, 2, 3), mat2=N(2, 3, 4))],
    "mv": [S(input=N(2, 3), vec=N(3))],
    "dot": [S(input=N(3), tensor=N(3))],
    "matmul": [S(input=N(2, 1, 2, 3), other=N(3, 3, 4)), S("rows", input=N(2, 3, 4), other=N(4, 5))],
    "linear": [S(input=N(2, 3, 4), weight=N(5, 4), bias=N(5)), S("no_bias", input=N(2, 4), weight=N(5, 4))],
    "addmm": [S(input=N(4), mat1=N(2, 3), mat2=N(3, 4), beta=0.5, alpha=2.0)],
    "baddbmm": [S(input=N(2, 2, 4), batch1=N(2, 2, 3), batch2=N(2, 3, 4))],
    "outer": [S(input=N(3), vec2=N(4))],
    # softmax, norms, losses
    "softmax": [S(input=N(3, 4), dim=1), S("first", input=N(3, 4), dim=0)],
    "log_softmax": [S(input=N(3, 4), dim=1)],
    "logsumexp": [S(input=N(3, 4), dim=1)],
    "layer_norm": [
        S(input=N(3, 5), normalized_shape=(5,), weight=N(5), bias=N(5)),
        S("two", input=N(2, 3, 4), normalized_shape=(3, 4)),
    ],
    "rms_norm": [S(input=N(3, 5), normalized_shape=(5,), weight=N(5))],
    "group_norm": [S(input=N(2, 4, 3), num_groups=2, weight=N(4), bias=N(4))],
    "batch_norm": [
        S(
            "train",
            input=N(4, 3, 2),
            running_mean=None,
            running_var=None,
            weight=N(3),
            bias=N(3),
            training=True,
        )
    ],
    "instance_norm": [S(input=N(2, 3, 5))],
    "mse_loss": [S(input=N(3, 4), target=N(3, 4))],
    "l1_loss": [S(input=N(3, 4), target=N(3, 4), twice=False)],
    "smooth_l1_loss": [S(input=N(3, 4), target=N(3, 4), beta=0.7)],
    "huber_loss": [S(input=N(3, 4), target=N(3, 4), delta=0.6)],
    "binary_cross_entropy": [S(input=U(0.2, 0.8, 3, 4), target=U(0.1, 0.9, 3, 4), meta=False)],
    "binary_cross_entropy_with_logits": [S(input=N(3, 4), target=U(0, 1, 3, 4))],
    "nll_loss": [S(input=N(4, 3), target=I(3, 4), meta=False)],
    "cross_entropy": [
        S(input=N(4, 3), target=I(3, 4), meta=False),
        S("soft", input=N(4, 3), target=U(0.1, 0.9, 4, 3)),
        S("smoothed", input=N(4, 3), target=I(3, 4), label_smoothing=0.1, meta=False),
    ],
    "kl_div": [S(input=N(3, 4), target=U(0.1, 0.9, 3, 4), reduction="batchmean")],
    "cosine_similarity": [S(x1=N(3, 4), x2=N(3, 4))],
    # attention
    "scaled_dot_product_attention": [
        S(query=N(2, 2, 3, 4), key=N(2, 2, 3, 4), value=N(2, 2, 3, 4)),
        S("causal", query=N(1, 3, 4), key=N(1, 3, 4), value=N(1, 3, 4), is_causal=True),
    ],
    # convolution, pooling, padding
    "conv1d": [S(input=N(2, 3, 8), weight=N(4, 3, 3), bias=N(4), stride=2, padding=1)],
    "conv2d": [
        S(input=N(2, 4, 6, 5), weight=N(4, 2, 3, 2), bias=N(4), padding=(1, 0), groups=2),
        S("dilated", input=N(1, 2, 7, 7), weight=N(3, 2, 3, 3), dilation=2),
    ],
    "conv_transpose2d": [
        S(input=N(1, 3, 4, 4), weight=N(3, 2, 3, 3), bias=N(2), stride=2, padding=1, output_padding=1)
    ],
    "max_pool2d_function": [S(input=N(1, 2, 6, 6), kernel_size=2, twice=False)],
    "avg_pool2d": [S(input=N(1, 2, 6, 6), kernel_size=3, stride=2, padding=1)],
    "adaptive_avg_pool2d": [S(input=N(1, 2, 5, 7), output_size=(2, 3), meta=False)],
    "pad": [
        S(input=N(1, 2, 4), pad=(1, 2)),
        S("reflect", input=N(1, 2, 4), pad=(2, 1), mode="reflect", meta=False),
    ],
    # index rows
    "gather": [S(input=N(3, 4), dim=1, index=I(4, 3, 2), meta=False)],
    "index_select": [S(input=N(3, 4), dim=0, index=I(3, 5), meta=False)],
    "take_along_dim": [S(input=N(3, 4), indices=I(4, 3, 2), dim=1, meta=False)],
    "scatter_add": [S(input=N(3, 4), dim=1, index=I(4, 3, 2), src=N(3, 2), meta=False)],
    "index_add": [S(input=N(3, 4), dim=0, index=I(3, 5), source=N(5, 4), meta=False)],
    "embedding": [S(weight=N(5, 4), indices=I(5, 2, 3), meta=False)],
    "masked_fill": [S(input=N(3, 4), mask=I(2, 3, 4).astype(bool), value=0.5)],
    # joining, rearranging, scanning, sorting
    "cat": [S(tensors=[N(2, 3), N(1, 3)], dim=0)],
    "stack": [S(tensors=[N(2, 3), N(2, 3)], dim=1)],
    "flip": [S(input=N(2, 3), dims=(0, 1))],
    "roll": [S(input=N(4, 3), shifts=1, dims=0)],
    "tril": [S(input=N(3, 4))],
    "triu": [S(input=N(3, 4), diagonal=1)],
    "cumsum": [S(input=N(3, 4), dim=1)],
    "cumprod": [S(input=N(3, 4), dim=1)],
    "sort": [S(input=N(3, 4), dim=1, twice=False, meta=False)],
    "topk": [S(input=N(3, 4), k=2, twice=False, meta=False)],
    # statistics
    "var": [S(input=N(3, 4), dim=1), S("all", input=N(3, 4))],
    "std": [S(input=N(3, 4), dim=0)],
    "prod": [S(input=N(3, 4), dim=1)],
    "vector_norm": [
        S(input=N(3, 4)),
        S("three", input=N(3, 4), ord=3, dim=1),
        S("turned", input=N(2, 3, 4), ord=2.5, dim=(2, 0)),
    ],
    "quantile": [S(input=N(4, 5), q=0.3, dim=1)],
    "nanquantile": [S(input=N(4, 5), q=0.7, dim=0, keepdim=True)],
    "nanmean": [S(input=N(3, 4), dim=1)],
    "cov": [
        S(input=N(3, 5), meta=False),
        S("weighted", input=N(3, 5), aweights=U(0.5, 2, 5), correction=0, meta=False),
    ],
    "corrcoef": [S(input=N(3, 5), meta=False)],
    # integration, distances, transforms, grids
    "trapezoid": [S(y=N(3, 4), dim=0), S("points", y=N(3, 4), x=np.sort(N(4)))],
    "cumulative_trapezoid": [S(y=N(3, 4), dx=0.5)],
    "gradient": [S(input=N(4, 5), edge_order=2), S("spaced", input=N(4, 5), spacing=0.3, dim=1)],
    "cdist": [
        S(x1=N(3, 4), x2=N(5, 4)),
        S("p3", x1=N(2, 3, 4), x2=N(5, 4), p=3.0),
        S("p1", x1=N(3, 4), x2=N(5, 4), p=1.0),
        S("many", x1=N(30, 4), x2=N(2, 4)),
    ],
    "pdist": [S(input=N(5, 3))],
    "histogram": [S(input=N(10), bins=3, meta=False)],
    "irfft": [S(input=N(3, 5)), S("odd", input=N(3, 5), n=7, dim=0, norm="ortho")],
    "hfft": [S(input=N(3, 5), n=6)],
    "irfftn": [S(input=N(3, 4)), S("cut", input=N(3, 4), s=(2, 5))],
    "hfftn": [S(input=N(3, 4))],
    "fftshift": [S(input=N(3, 4))],
    "grid_sample": [
        S(input=N(1, 2, 4, 5), grid=U(-0.9, 0.9, 1, 2, 3, 2), align_corners=True),
        S(
            "cubic",
            input=N(1, 1, 4, 5),
            grid=U(-1.4, 1.4, 1, 2, 3, 2),
            mode="bicubic",
            padding_mode="reflection",
            align_corners=False,
        ),
        S("volume", input=N(1, 1, 3, 4, 5), grid=U(-1.4, 1.4, 1, 2, 2, 1, 3), align_corners=False),
    ],
    "affine_grid": [S(theta=N(2, 2, 3), size=(2, 1, 3, 4), align_corners=False)],
    "ldexp": [S(input=N(3, 4), other=I(4, 3, 4))],
    "frexp": [S(input=N(3, 4))],
    "permute_copy": [S(input=N(2, 3, 4), dims=(2, 0, 1))],
    "unfold_copy": [S(input=N(2, 7), dimension=1, size=3, step=2)],
    "split_with_sizes_copy": [S(input=N(2, 5), split_sizes=(2, 3), dim=1)],
    "clone": [S(input=N(2, 3))],
    # linear algebra
    "_lu_factor": [S(A=P(3, 3)), S("tall", A=N(2, 4, 3)), S("wide", A=N(3, 5))],
    "linalg_lu": [S(A=P(2, 3, 3)), S("tall", A=N(4, 3)), S("wide", A=N(3, 4))],
    "lu_unpack": [S(LU_data=N(3, 3), LU_pivots=np.array([3, 3, 3], np.int32), meta=False)],
    "linalg_lu_solve": [
        S(LU=P(3, 3), pivots=np.array([2, 3, 3], np.int32), B=N(2, 3, 2), meta=False),
        S(
            "right_adjoint",
            LU=P(3, 3),
            pivots=np.array([2, 3, 3], np.int32),
            B=N(2, 3),
            left=False,
            adjoint=True,
            meta=False,
        ),
    ],
    "_solve_triangular": [
        S(A=P(3, 3), B=N(3, 2), upper=True, unit=False),
        S("lower_unit", A=P(2, 3, 3), B=N(3, 2), upper=False, unit=True),
    ],
    "linalg_solve": [
        S(A=P(2, 3, 3), B=N(3, 2)),
        S("vectors", A=P(2, 3, 3), B=N(2, 3)),
        S("right", A=P(3, 3), B=N(2, 3), left=False),
    ],
    "linalg_inv": [S(A=P(3, 3)), S("batch", A=P(2, 2, 2))],
    "linalg_tensorinv": [S(input=P(6, 6).reshape(2, 3, 3, 2))],
    "linalg_tensorsolve": [S(input=P(6, 6).reshape(2, 3, 6), other=N(2, 3))],
    "linalg_det": [S(A=P(2, 3, 3))],
    "linalg_slogdet": [S(A=P(2, 3, 3))],
    "logdet": [S(input=P(3, 3))],
    # Of one triangle read, gradients hold for some changes (test_linalg.py): not for those that the laws try.
    "cholesky_solve": [S(input=N(3, 2), input2=P(3, 3), smooth=False)],
    "cholesky_inverse": [S(input=P(3, 3), upper=True, smooth=False)],
    "linalg_eigh": [S(input=np.triu(P(2, 3, 3)), UPLO="U", smooth=False)],
    "linalg_eigvalsh": [S(input=np.tril(P(3, 3)), smooth=False)],
    "linalg_svdvals": [S(A=N(3, 4))],
    "linalg_pinv": [S("tall", input=N(4, 2)), S("wide", input=N(2, 2, 3))],
    "linalg_lstsq": [S(input=N(4, 2), b=N(4, 3), driver="gelsd", meta=False)],
    "linalg_matrix_norm": [
        S(input=N(2, 3, 4)),
        S("nuclear", input=N(3, 4), ord="nuc"),
        S("two", input=N(4, 2, 3), ord=2, dim=(2, 0), keepdim=True),
        S("one", input=N(3, 4), ord=1),
        S("rows", input=N(3, 4), ord=float("-inf")),
    ],
    "linalg_cond": [S(input=P(3, 3)), S("one", input=P(3, 3), p=1)],
    "linalg_matrix_power": [S(input=P(3, 3), n=5), S("inverse", input=P(3, 3), n=-2)],
    "linalg_multi_dot": [
        S(tensors=[N(2, 5), N(5, 3), N(3, 4), N(4, 2)]),
        S("vector", tensors=[N(3), N(3, 2)]),
    ],
    "kron": [S(input=N(2, 3), other=N(2, 2, 1))],
    "linalg_cross": [S(input=N(4, 3), other=N(1, 3)), S("first", input=N(3, 2), other=N(3, 2), dim=0)],
    "linalg_vecdot": [S(x=N(2, 4, 3), y=N(4, 3))],
    "householder_product": [S(input=N(4, 3), tau=U(0.5, 1.0, 3))],
    "ormqr": [S(input=N(4, 3), tau=U(0.5, 1.0, 3), other=N(2, 4), left=False, transpose=True)],
}
