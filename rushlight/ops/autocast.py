"""What autocast does to each row: PyTorch's lists for the CPU.

"lower": products and convolutions run in bfloat16 or float16. "float32": delicate ops run in float32.
"promote": operands meet in the widest of their types. "through": the rows inside have their own policies.
All others run on whatever their operands are, and so do the rows inside them ("keep"). Of a few rows, the
arguments decide.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

_LISTS = {
    "lower": """
        conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d mm bmm _matmul matmul
        linear lstm rnn_tanh rnn_relu rnn_tanh_cell rnn_relu_cell addmm addbmm baddbmm linalg_vecdot prelu
        scaled_dot_product_attention""",
    "float32": """
        avg_pool3d _max_pool3d_plain adaptive_avg_pool3d adaptive_max_pool3d max_unpool1d max_unpool2d
        max_unpool3d grid_sampler grid_sampler_2d grid_sampler_3d grid_sample polar prod quantile
        nanquantile stft cdist trace view_as_complex binary_cross_entropy binary_cross_entropy_with_logits
        mse_loss cosine_embedding_loss nll_loss hinge_embedding_loss poisson_nll_loss smooth_l1_loss
        cross_entropy l1_loss huber_loss margin_ranking_loss soft_margin_loss triplet_margin_loss
        multi_margin_loss ctc_loss kl_div multilabel_margin_loss fft ifft fft2 ifft2 fftn ifftn rfft irfft
        rfft2 irfft2 rfftn irfftn hfft ihfft cholesky cholesky_inverse cholesky_solve inverse lu lu_solve
        householder_product ormqr pinverse geqrf qr svd triangular_solve linalg_cond linalg_matrix_rank
        linalg_solve linalg_cholesky linalg_cholesky_ex linalg_svd linalg_svdvals linalg_eig
        linalg_eigvals linalg_eigh linalg_eigvalsh linalg_inv linalg_inv_ex linalg_tensorinv
        linalg_tensorsolve linalg_qr linalg_lstsq""",
    "promote": "cat stack index_copy",
    "through": """
        inner einsum _of_equation tensordot bilinear cov corrcoef linalg_pinv svd_lowrank pca_lowrank
        chain_matmul linalg_multi_dot linalg_matrix_power hstack vstack dstack column_stack combinations
        cartesian_prod""",
}


def _einsum(operands: Any, equation: str) -> str:
    # Without a sum it is a pointwise product.
    terms, result = equation.split("->")
    return "lower" if set(terms) - set(result) - {","} else "keep"


def _pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> str:
    return "float32" if mode == "replicate" or mode == "reflect" and len(pad) < 6 else "keep"


def _max_pool(*args: Any, return_indices: bool = False, **more: Any) -> str:
    return "keep" if return_indices or len(args) > 6 and args[6] else "float32"


def _recurrent(input: Any, *rest: Any, **more: Any) -> str:
    # The new state is a sum with the old one, in the type of that; the types of weights must fit.
    return "keep" if input._k.dtype.name in ("float32", "float64") else "lower"


CHOSEN: dict[str, Callable[..., str]] = {
    "_einsum": _einsum, "pad": _pad, "max_pool3d_function": _max_pool,
    **dict.fromkeys(("gru", "lstm_cell", "gru_cell"), _recurrent)}
POLICIES = {**dict.fromkeys(CHOSEN, "by arguments"),
            **{name: policy for policy, names in _LISTS.items() for name in names.split()}}
