"""torch.optim.functional: one step of an optimizer, as a function of parameters, gradients and states.

Each function changes `params` and the states in place, as a step of the class of that name does, and adds 1
to each of `state_steps`. Lists are of equal length: the state of params[i] stands at i. `foreach`, `fused`,
`capturable` and `has_complex` say how PyTorch computes the step; here they are checked as the class checks
them. grad_scale, found_inf: a GradScaler's, of fused steps alone: gradients are divided by the first, and
nothing is done where the second is not 0. With differentiable=True the step is part of the graph.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from rushlight._engine.tensors.tensor import Tensor
from rushlight.optim._adafactor import Adafactor
from rushlight.optim._muon import Muon
from rushlight.optim.adadelta import Adadelta
from rushlight.optim.adagrad import Adagrad
from rushlight.optim.adam import Adam
from rushlight.optim.adamax import Adamax
from rushlight.optim.asgd import ASGD
from rushlight.optim.nadam import NAdam
from rushlight.optim.optimizer import Optimizer
from rushlight.optim.radam import RAdam
from rushlight.optim.rmsprop import RMSprop
from rushlight.optim.rprop import Rprop
from rushlight.optim.sgd import SGD
from rushlight.optim.sparse_adam import SparseAdam

__all__ = [
    "adadelta",
    "adafactor",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "asgd",
    "muon",
    "nadam",
    "radam",
    "rmsprop",
    "rprop",
    "sgd",
    "sparse_adam",
]

Tensors = Sequence[Tensor]
_States = dict[str, Sequence[Any]]


def _step(
    cls: type[Optimizer],
    params: Tensors,
    grads: Tensors,
    states: _States,
    options: dict[str, Any],
    scaling: tuple[Tensor | None, Tensor | None] = (None, None),
) -> list[dict[str, Any]]:
    """Step `params` by an optimizer that has these states; what states there are then.

    The optimizer is given other tensors with the parameters' memory: they are leaves, whatever those are,
    and have gradients of their own. Only a differentiable step, which is recorded, needs the parameters.
    """
    if not params:
        return []
    whole = bool(options.get("differentiable"))
    stepped = [p if whole else p.detach() for p in params]
    before = [getattr(p, "_grad", None) for p in stepped]
    optimizer: Any = cls(stepped, **options)
    optimizer.grad_scale, optimizer.found_inf = scaling
    for i, (p, grad) in enumerate(zip(stepped, grads, strict=True)):
        p.grad = grad
        held = {name: values[i] for name, values in states.items() if len(values)}
        optimizer.state[p] = {name: value for name, value in held.items() if value is not None}
    try:
        optimizer.step()
    finally:
        for p, kept in zip(stepped, before, strict=True):
            p.grad = kept
    return [optimizer.state[p] for p in stepped]


def step_lists(optimizer: Any, cls: type[Any], group: dict[str, Any]) -> None:
    """A step of `cls` for a group of an optimizer of that class, of what its _init_group appends."""
    names: tuple[str, ...] = vars(cls)["_init_group"].collects
    params: list[Tensor] = []
    grads: list[Tensor] = []
    lists: _States = {name: [] for name in names}
    optimizer._init_group(group, params, grads, *lists.values())
    options = {
        name: group[name]
        for name in inspect.signature(cls.__init__).parameters
        if name in group and name != "params"
    }
    scaling = getattr(optimizer, "grad_scale", None), getattr(optimizer, "found_inf", None)
    found = _step(cls, params, grads, lists, options, scaling)
    for p, state in zip(params, found, strict=True):
        for name in names:  # what this step has begun
            if name in state:
                optimizer.state[p].setdefault(name, state[name])


def _named(given: dict[str, Any], names: str, **more: Any) -> dict[str, Any]:
    """A class's options: those of a function's arguments that have these names, and `more`."""
    return {**{name: given[name] for name in names.split()}, **more}


def sgd(
    params: Tensors,
    d_p_list: Tensors,
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """A step of SGD. None in momentum_buffer_list is replaced by the first buffer."""
    found = _step(
        SGD,
        params,
        d_p_list,
        {"momentum_buffer": momentum_buffer_list},
        _named(locals(), "lr momentum dampening weight_decay nesterov maximize foreach fused"),
        (grad_scale, found_inf),
    )
    if momentum:
        momentum_buffer_list[:] = [state.get("momentum_buffer") for state in found]


def adam(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    max_exp_avg_sqs: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """A step of Adam. max_exp_avg_sqs: with amsgrad alone."""
    _step(
        Adam,
        params,
        grads,
        {
            "step": state_steps,
            "exp_avg": exp_avgs,
            "exp_avg_sq": exp_avg_sqs,
            "max_exp_avg_sq": max_exp_avg_sqs if amsgrad else (),
        },
        _named(
            locals(),
            "lr eps weight_decay amsgrad maximize foreach capturable differentiable fused "
            "decoupled_weight_decay",
            betas=(beta1, beta2),
        ),
        (grad_scale, found_inf),
    )


def adamw(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    max_exp_avg_sqs: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """A step of AdamW: adam() with decoupled weight decay."""
    adam(
        params,
        grads,
        exp_avgs,
        exp_avg_sqs,
        max_exp_avg_sqs,
        state_steps,
        foreach,
        capturable,
        differentiable,
        fused,
        grad_scale,
        found_inf,
        has_complex,
        decoupled_weight_decay=True,
        amsgrad=amsgrad,
        beta1=beta1,
        beta2=beta2,
        lr=lr,
        weight_decay=weight_decay,
        eps=eps,
        maximize=maximize,
    )


def adadelta(
    params: Tensors,
    grads: Tensors,
    square_avgs: Tensors,
    acc_deltas: Tensors,
    state_steps: Tensors,
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """A step of Adadelta."""
    _step(
        Adadelta,
        params,
        grads,
        {"step": state_steps, "square_avg": square_avgs, "acc_delta": acc_deltas},
        _named(locals(), "lr rho eps weight_decay maximize foreach capturable differentiable"),
    )


def adagrad(
    params: Tensors,
    grads: Tensors,
    state_sums: Tensors,
    state_steps: Tensors,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """A step of Adagrad."""
    _step(
        Adagrad,
        params,
        grads,
        {"step": state_steps, "sum": state_sums},
        _named(locals(), "lr lr_decay weight_decay eps maximize foreach differentiable fused"),
        (grad_scale, found_inf),
    )


def adamax(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_infs: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
) -> None:
    """A step of Adamax."""
    _step(
        Adamax,
        params,
        grads,
        {"step": state_steps, "exp_avg": exp_avgs, "exp_inf": exp_infs},
        _named(
            locals(), "lr eps weight_decay maximize foreach capturable differentiable", betas=(beta1, beta2)
        ),
    )


def asgd(
    params: Tensors,
    grads: Tensors,
    axs: Tensors,
    mus: Tensors,
    etas: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """A step of ASGD."""
    _step(
        ASGD,
        params,
        grads,
        {"step": state_steps, "ax": axs, "mu": mus, "eta": etas},
        _named(locals(), "lr lambd t0 alpha weight_decay maximize foreach capturable differentiable"),
    )


def nadam(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    mu_products: Tensors,
    state_steps: Tensors,
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """A step of NAdam."""
    _step(
        NAdam,
        params,
        grads,
        {
            "step": state_steps,
            "exp_avg": exp_avgs,
            "exp_avg_sq": exp_avg_sqs,
            "mu_product": mu_products,
        },
        _named(
            locals(),
            "lr eps weight_decay momentum_decay decoupled_weight_decay maximize foreach capturable "
            "differentiable",
            betas=(beta1, beta2),
        ),
    )


def radam(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    state_steps: Tensors,
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    eps: float,
) -> None:
    """A step of RAdam."""
    _step(
        RAdam,
        params,
        grads,
        {"step": state_steps, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs},
        _named(
            locals(),
            "lr eps weight_decay decoupled_weight_decay maximize foreach capturable differentiable",
            betas=(beta1, beta2),
        ),
    )


def rmsprop(
    params: Tensors,
    grads: Tensors,
    square_avgs: Tensors,
    grad_avgs: Tensors,
    momentum_buffer_list: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """A step of RMSprop. grad_avgs: if centered; momentum_buffer_list: with a momentum."""
    _step(
        RMSprop,
        params,
        grads,
        {
            "step": state_steps,
            "square_avg": square_avgs,
            "grad_avg": grad_avgs if centered else (),
            "momentum_buffer": momentum_buffer_list if momentum else (),
        },
        _named(
            locals(), "lr alpha eps weight_decay momentum centered maximize foreach capturable differentiable"
        ),
    )


def rprop(
    params: Tensors,
    grads: Tensors,
    prevs: Tensors,
    step_sizes: Tensors,
    state_steps: Tensors,
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """A step of Rprop."""
    _step(
        Rprop,
        params,
        grads,
        {"step": state_steps, "prev": prevs, "step_size": step_sizes},
        _named(
            locals(),
            "maximize foreach capturable differentiable",
            etas=(etaminus, etaplus),
            step_sizes=(step_size_min, step_size_max),
        ),
    )


def muon(
    params: Tensors,
    grads: Tensors,
    muon_momentum_bufs: Tensors,
    *,
    foreach: bool | None = None,
    lr: float,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    ns_steps: int,
    eps: float,
    adjust_lr_fn: str | None,
    has_complex: bool,
) -> None:
    """A step of Muon, of matrices alone. RuntimeError for foreach=True."""
    if foreach:
        raise RuntimeError("Foreach is not supported for Muon yet")
    _step(
        Muon,
        params,
        grads,
        {"momentum_buffer": muon_momentum_bufs},
        _named(locals(), "lr weight_decay momentum nesterov ns_coefficients ns_steps eps adjust_lr_fn"),
    )


def adafactor(
    params: Tensors,
    grads: Tensors,
    row_vars: Sequence[Tensor | None],
    col_vars: Sequence[Tensor | None],
    variances: Sequence[Tensor | None],
    state_steps: Tensors,
    foreach: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: float | Tensor,
    beta2_decay: float,
    weight_decay: float,
    eps1: float,
    eps2: float,
    maximize: bool,
) -> None:
    """A step of Adafactor: rows and columns of matrices, variances of vectors; None for the others."""
    _step(
        Adafactor,
        params,
        grads,
        {"step": state_steps, "row_var": row_vars, "col_var": col_vars, "variance": variances},
        _named(locals(), "lr beta2_decay d weight_decay foreach maximize", eps=(eps1, eps2)),
        (grad_scale, found_inf),
    )


def sparse_adam(
    params: Tensors,
    grads: Tensors,
    exp_avgs: Tensors,
    exp_avg_sqs: Tensors,
    state_steps: Sequence[int],
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    maximize: bool,
) -> None:
    """A step of SparseAdam; unlike the others it is told the number of this step, by state_steps."""
    _step(
        SparseAdam,
        params,
        grads,
        {"step": [step - 1 for step in state_steps], "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs},
        {"lr": lr, "betas": (beta1, beta2), "eps": eps, "maximize": maximize},
    )
