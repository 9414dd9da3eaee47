"""Small calls, right and wrong: each gets the package."""

from __future__ import annotations


def _x(torch):
    return torch.arange(12.0).reshape(3, 4).sin()


def _vmap(function, **how):
    return lambda torch: torch.vmap(function(torch), **how)(_x(torch))


def _grad(function, **how):
    return lambda torch: torch.func.grad(function(torch), **how)(_x(torch))


def _write(torch):
    def run(v):
        out = torch.zeros_like(v)
        out[1:] = v[:-1]
        out[0] += 3
        out.mul_(v)
        return out

    return run


def _tracked(torch):
    w = torch.ones(4, requires_grad=True)
    return torch.func.grad(lambda v: (v * w).sin().sum())(_x(torch)[0])


def _untracked(torch):
    w = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        return torch.func.grad(lambda v: (v * w).sin().sum())(_x(torch)[0])


def _inside_no_grad(torch):
    x = _x(torch)[0].requires_grad_()

    def f(v):
        with torch.no_grad():
            c = v**2
        return (v**2 - c).sum()

    return torch.func.grad(f)(x)


BEHAVIOURS = {
    # what cannot be batched
    "item": _vmap(lambda torch: lambda v: v.sum().item()),
    "bool": _vmap(lambda torch: lambda v: v if v.sum() > 0 else -v),
    "float": _vmap(lambda torch: lambda v: float(v.sum())),
    "numpy": _vmap(lambda torch: lambda v: v.numpy()),
    "nonzero": _vmap(lambda torch: lambda v: v.nonzero()),
    "unique": _vmap(lambda torch: lambda v: v.unique()),
    "mask": _vmap(lambda torch: lambda v: v[v > 0]),
    "out": _vmap(lambda torch: lambda v: torch.add(v, v, out=torch.empty(4))),
    "unbatched_copy": _vmap(lambda torch: lambda v: torch.zeros(4).copy_(v)),
    "unbatched_item": _vmap(lambda torch: lambda v: torch.zeros(4).__setitem__(0, v[0])),
    "random_refused": _vmap(lambda torch: lambda v: v + torch.rand(4)),
    "random_word": lambda torch: torch.vmap(lambda v: v, randomness="foo"),
    # dims
    "no_inputs": lambda torch: torch.vmap(lambda: 1)(),
    "in_dims_structure": _vmap(lambda torch: lambda v: v, in_dims=(0, 0)),
    "in_dims_range": _vmap(lambda torch: lambda v: v, in_dims=3),
    "in_dims_none": _vmap(lambda torch: lambda v: v, in_dims=None),
    "in_dims_type": _vmap(lambda torch: lambda v: v, in_dims="a"),
    "in_dims_all_none": _vmap(lambda torch: lambda v: v, in_dims=(None,)),
    "not_a_tensor": lambda torch: torch.vmap(lambda v: v)(3),
    "sizes": lambda torch: torch.vmap(lambda v, w: v)(_x(torch), _x(torch)[:2]),
    "result_type": _vmap(lambda torch: lambda v: 3),
    "out_dims_structure": _vmap(lambda torch: lambda v: v, out_dims=(0, 0)),
    "out_dims_range": _vmap(lambda torch: lambda v: v, out_dims=5),
    "out_dims_type": _vmap(lambda torch: lambda v: v, out_dims="a"),
    "out_dims_none": _vmap(lambda torch: lambda v: v, out_dims=None),
    "out_dims_none_shared": _vmap(lambda torch: lambda v: torch.ones(2), out_dims=None),
    "out_dims_pairs": _vmap(lambda torch: lambda v: (v, v.sum()), out_dims=(1, 0)),
    "out_dims_single": _vmap(lambda torch: lambda v: v, out_dims=(1,)),
    "chunk_zero": lambda torch: torch.vmap(lambda v: v, chunk_size=0),
    "chunks": _vmap(lambda torch: lambda v: (v * 2, v.sum()), chunk_size=2, out_dims=(1, 0)),
    "keywords": lambda torch: torch.vmap(lambda v, k: v + k)(_x(torch), k=_x(torch)),
    "nested": lambda torch: torch.vmap(lambda d: d["a"] + d["b"][0], in_dims=({"a": 0, "b": (1,)},))(
        {"a": _x(torch), "b": (_x(torch).t(),)}
    ),
    "negative_dims": _vmap(lambda torch: lambda v: v * 2, in_dims=-1, out_dims=-1),
    # what can
    "writes": _vmap(_write),
    "median": _vmap(lambda torch: lambda v: torch.median(v)),
    "random_same": _vmap(lambda torch: lambda v: (torch.manual_seed(1), torch.rand(2))[1], randomness="same"),
    "random_different": _vmap(
        lambda torch: lambda v: (torch.manual_seed(1), torch.rand(2) + v[0] * 0)[1], randomness="different"
    ),
    "promotion": _vmap(lambda torch: lambda v: (v.double().sum() + torch.ones(2)).float()),
    "two_levels": lambda torch: torch.vmap(torch.vmap(lambda a: a.cumsum(0)), in_dims=1, out_dims=1)(
        torch.arange(24.0).reshape(2, 3, 4)
    ),
    "index_batched": lambda torch: torch.vmap(lambda v, i: v[i])(_x(torch), torch.tensor([1, 0, 3])),
    "take": _vmap(lambda torch: lambda v: torch.take(v, torch.tensor([0]))),
    "histc": _vmap(lambda torch: lambda v: torch.histc(v, 3, 0, 1)),
    # derivatives
    "grad_not_scalar": _grad(lambda torch: lambda v: v),
    "grad_no_tensor": _grad(lambda torch: lambda v: 3),
    "grad_of_integers": lambda torch: torch.func.grad(lambda v: v.sum())(torch.arange(3)),
    "grad_argnum": _grad(lambda torch: lambda v: v.sum(), argnums=1),
    "grad_argnum_type": _grad(lambda torch: lambda v: v.sum(), argnums="a"),
    "grad_argnum_twice": lambda torch: torch.func.grad(lambda v, w: v.sum(), argnums=(0, 0))(
        _x(torch), _x(torch)
    ),
    "grad_aux_missing": _grad(lambda torch: lambda v: v.sum(), has_aux=True),
    "grad_aux": _grad(lambda torch: lambda v: (v.sin().sum(), v * 2), has_aux=True),
    "grad_backward": _grad(lambda torch: lambda v: v.sum().backward()),
    "grad_inside": _grad(lambda torch: lambda v: torch.autograd.grad((v**2).sum(), v)[0].sum()),
    "grad_requires": _grad(lambda torch: lambda v: v.requires_grad_().sum()),
    "vmap_requires": _vmap(lambda torch: lambda v: v.requires_grad_()),
    "grad_tracked": _tracked,
    "grad_untracked": _untracked,
    "grad_no_grad_inside": _inside_no_grad,
    "grad_detach": _grad(lambda torch: lambda v: (v * v.detach()).sum()),
    "vjp_type": lambda torch: torch.func.vjp(lambda a: 3, _x(torch)),
    "vjp_shape": lambda torch: torch.func.vjp(lambda a: a, _x(torch))[1](_x(torch)[0]),
    "vjp_structure": lambda torch: torch.func.vjp(lambda a: (a, a), _x(torch))[1](_x(torch)),
    "vjp": lambda torch: torch.func.vjp(lambda a: a.sin(), _x(torch))[1](_x(torch)),
    "jvp_tuple": lambda torch: torch.func.jvp(torch.sin, _x(torch), _x(torch)),
    "jvp_structure": lambda torch: torch.func.jvp(torch.sin, (_x(torch),), (_x(torch), _x(torch))),
    "jvp_shape": lambda torch: torch.func.jvp(torch.sin, (_x(torch),), (_x(torch)[0],)),
    "jvp_type": lambda torch: torch.func.jvp(torch.sin, (3,), (_x(torch),)),
    "jvp_result": lambda torch: torch.func.jvp(lambda a: 3, (_x(torch),), (_x(torch),)),
    "jvp_nothing": lambda torch: torch.func.jvp(lambda a: a, (), ()),
    "jvp": lambda torch: torch.func.jvp(lambda a: (a.sin(), a.sum()), (_x(torch),), (_x(torch),))[1],
    "jacrev_chunk": lambda torch: torch.func.jacrev(lambda a: a, chunk_size=-1),
    "jacrev_integers": lambda torch: torch.func.jacrev(lambda a: a)(torch.arange(3)),
    "jacfwd_integers": lambda torch: torch.func.jacfwd(lambda a: a)(torch.arange(3)),
    "jacrev_aux": lambda torch: torch.func.jacrev(lambda a: (a.sin(), a), has_aux=True)(_x(torch)[0]),
    "jacfwd_aux": lambda torch: torch.func.jacfwd(lambda a: (a.sin(), a), has_aux=True)(_x(torch)[0]),
    "linearize": lambda torch: torch.func.linearize(torch.sin, _x(torch))[1](_x(torch)),
    "stack_none": lambda torch: torch.func.stack_module_state([]),
}
