"""What PyTorch says, once in a process, of functions in an older spelling."""

from __future__ import annotations

from rushlight._engine.core.errors import warn_once

_WORDS = {
    "cross": "Using torch.cross without specifying the dim arg is deprecated.\n"
    "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
    "The default value of dim will change to agree with that of linalg.cross in a future release.",
    "qr": "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch "
    "release.\n"
    "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\n"
    "Q, R = torch.qr(A, some)\n"
    "should be replaced with\n"
    "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')",
    "cholesky": "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a "
    "future PyTorch release.\n"
    "L = torch.cholesky(A)\n"
    "should be replaced with\n"
    "L = torch.linalg.cholesky(A)\n"
    "and\n"
    "U = torch.cholesky(A, upper=True)\n"
    "should be replaced with\n"
    "U = torch.linalg.cholesky(A).mH\n"
    "This transform will produce equivalent results for all valid (symmetric positive definite) inputs.",
    "lu": "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be "
    "removed in a future PyTorch release.\n"
    "LU, pivots = torch.lu(A, compute_pivots)\n"
    "should be replaced with\n"
    "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\n"
    "and\n"
    "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\n"
    "should be replaced with\n"
    "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)",
    "triangular_solve": "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular"
    "and will be removed in a future PyTorch release.\n"
    "torch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the "
    "inputs.\n"
    "X = torch.triangular_solve(B, A).solution\n"
    "should be replaced with\n"
    "X = torch.linalg.solve_triangular(A, B).",
    "chain_matmul": "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
    "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than multiple "
    "parameters.",
    "where": "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a "
    "future version of PyTorch. Use a boolean condition instead.",
    "set_default_tensor_type": "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
    "torch.set_default_dtype() and torch.set_default_device() as alternatives.",
}


def deprecated(name: str) -> None:
    """Say that the function is an older spelling, and what to use."""
    warn_once(_WORDS[name])
