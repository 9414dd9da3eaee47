"""How rows take a batch in: by their kind, or as listed here.

"along": the batch in front of every operand, dims counted one further. "front": the same for rows that work
on trailing dims. "align": operands broadcast, with the batch in front. "body": by the rows inside, though the
row has a kernel. Rules of single rows are in `batchrules`.
"""
from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

Rule = Callable[[Any, Any, dict[str, Any]], Any]

_LISTS = {
    "along": """
        gather scatter scatter_add scatter_reduce cumsum cumprod cummax cummin logcumsumexp sort topk kthvalue
        _median_dim _nanmedian_dim mode _max_dim _min_dim argmax argmin flip roll diag_embed _repeat_each _cat
        _stack _softmax _log_softmax _softmax_backward _log_softmax_backward select_scatter slice_scatter
        diagonal_scatter transpose select slice diagonal unfold unsqueeze _fft_c2c _fft_r2c _fft_c2r""",
    "front": """
        clone _to_dtype tril triu frexp one_hot constant_pad_nd _max_pool _avg_pool _avg_pool_back
        _adaptive_max _lu_factor _pivot_order _permutation _inverse _det _slogdet _cholesky _eigh _eigvalsh
        _eig _eigvals _svd _svdvals _qr geqrf _ldl_factor _normalize_rows _attention _complex_part
        view_as_real view_as_complex zeros_like ones_like full_like empty_like _attention_backward""",
    "align": "complex polar _overwritten _solve _solve_triangular",
    "reduce": "_p_norm _euclid _logsumexp",
    "loop": """
        embedding_bag ctc_loss repeat_interleave renorm ormqr householder_product unravel_index histogram
        svd_lowrank pca_lowrank histogramdd linalg_lstsq _recurrence""",
    "random": """
        rand randn randint randperm _normal_sized rand_like randn_like randint_like uniform normal_fill
        exponential geometric log_normal cauchy random bernoulli bernoulli_fill _normal_around multinomial
        binomial poisson _standard_gamma _sample_dirichlet _keep _rrelu_slopes""",
    "draws": """
        normal torch_dropout dropout_ torch_feature_dropout feature_dropout_ torch_alpha_dropout rrelu_ rrelu
        alpha_dropout_ torch_feature_alpha_dropout feature_alpha_dropout_ native_dropout dropout torch_rrelu
        alpha_dropout feature_alpha_dropout dropout1d dropout2d dropout3d gumbel_softmax lstm gru rnn_tanh
        rnn_relu scaled_dot_product_attention""",
    "dynamic": "_nonzero unique unique_consecutive nonzero argwhere",
}
_SETS = {name: frozenset(text.split()) for name, text in _LISTS.items()}
RANDOM, DYNAMIC = _SETS.pop("random"), _SETS.pop("dynamic")
# Composites that may draw numbers, whatever their operands are.
DRAWS = _SETS.pop("draws") | RANDOM
BY_VALUE = frozenset("bernoulli _normal_around multinomial binomial poisson _standard_gamma "
                     "_sample_dirichlet".split())
ELEMENTWISE_RANDOM = RANDOM - {"multinomial", "_sample_dirichlet", "randperm"}
DYNAMIC_RESULT = ("vmap: We do not support batching operators that can output dynamic shape. Attempted to "
                  "vmap over aten::{}; use masks of a fixed shape")
OF = {name: policy for policy, names in _SETS.items() for name in names}
_KINDS = {"reduce": "reduce", "contract": "contract", "composite": "body"}


def rule(row: Any) -> Rule:
    """The rule of a row."""
    rules = import_module("rushlight.transforms.batchrules").RULES
    found: Rule | None = rules.get(row.name) or rules.get(OF.get(row.name) or _KINDS.get(row.kind))
    return found or (lambda *facts: NotImplemented)
