"""DTensor: one tensor of which each rank holds a part.

Its memory is the rank's part, so optimizers and casts work on it as it is; shape, size() and stride() are the
whole's. strategies.py says for each op which parts a rank needs, and what its result then is a part of; ops
that
it does not know gather their operands first, and their result is on all ranks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import rushlight as torch
import rushlight.distributed as dist
from rushlight._engine.autograd import hooks
from rushlight._engine.core.callers import warn
from rushlight._engine.core.pytree import flatten, tree_map
from rushlight._engine.core.size import Size
from rushlight._engine.dispatch.overrides import of_rows, unseen
from rushlight._engine.ops.table import ROWS
from rushlight._engine.tensors.tensor import Tensor, alias
from rushlight.distributed.device_mesh import current_mesh
from rushlight.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from rushlight.distributed.tensor.placement_types import (
    Placement,
    Replicate,
    Shard,
    _Cut,
    local_part,
    normalized,
)
from rushlight.distributed.tensor.redistribution import dual, moved, route, shared, summed
from rushlight.distributed.tensor.strategies import Call, Strategy, choose, local_function, rule_of

# Ops besides the pointwise ones that each rank does on its part.
_LOCAL = frozenset(
    (
        "clone to _to_dtype _to_device float double half bfloat16 contiguous zeros_like ones_like "
        "empty_like full_like copy_ zero_ fill_ cpu type is_floating_point is_complex is_signed "
        "element_size type_as is_contiguous dim"
    ).split()
)
# Ops of which a tensor tells only the dtype and the device.
_MADE_LIKE = frozenset(("new_empty", "new_full", "new_ones", "new_zeros", "new_tensor"))
_NORMS = frozenset(("vector_norm", "norm", "linalg_vector_norm"))
# Ops that change a tensor's shape in place, as the ops that they are.
_RESHAPING = {
    "t_": "t_",
    "transpose_": "transpose_",
    "swapaxes_": "transpose_",
    "swapdims_": "transpose_",
    "unsqueeze_": "unsqueeze_",
    "squeeze_": "squeeze_",
    "resize_as_": "resize_as_",
    "as_strided_": "as_strided_",
}


class DTensor(Tensor):
    """Made by from_local, distribute_tensor, fully_shard. `device_mesh`, `placements`: where its parts
    lie.
    """

    _mesh: Any
    _placements: tuple[Placement, ...]
    _whole: tuple[int, ...]

    def __new__(cls, local_tensor: Any, spec: Any, *, requires_grad: bool) -> Any:
        """A leaf whose part here is `local_tensor`, lying as `spec` says. For programs: from_local."""
        if local_tensor.requires_grad and not requires_grad:
            warn(
                "To construct DTensor from torch.Tensor, it's recommended to use local_tensor.detach() and "
                "make requires_grad consistent."
            )
        made = make(alias(local_tensor), spec.mesh, spec.placements, spec.shape)
        return made.requires_grad_(requires_grad)

    @staticmethod
    def from_local(
        local_tensor: Any,
        device_mesh: Any = None,
        placements: Any = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
    ) -> DTensor:
        """The tensor of which `local_tensor` is this rank's part; without `shape`, parts are of equal
        size.
        """
        if (shape is None) != (stride is None):
            raise RuntimeError(
                f"Found shape:{shape}, stride:{stride}. Please pass both shape and stride at the same time."
            )
        device_mesh = device_mesh or current_mesh()
        placements = _complete(device_mesh, placements, local_tensor.ndim)
        if shape is None:
            shape = list(local_tensor.shape)
            for number, placement in enumerate(placements):
                if isinstance(placement, Shard):
                    shape[placement.dim] *= device_mesh.size(number)
        if local_tensor.device.type != device_mesh.device_type and not local_tensor.is_meta:
            local_tensor = local_tensor.to(device_mesh.device_type)
        if device_mesh.get_coordinate() is None:
            local_tensor = local_tensor.new_empty(0, requires_grad=local_tensor.requires_grad)
        if local_tensor.requires_grad:
            local_tensor = _Held.apply(local_tensor)
        return make(local_tensor, device_mesh, placements, shape)

    @classmethod
    @unseen
    @of_rows
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {})

    # --- parts and the whole ----------------------------------------------------------------------

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """This rank's part, in the same memory and at the same place in the graph.

        grad_placements: how the part's gradient will lie; by default as the tensor does.
        """
        local = alias(self, self._grad_node, self._output_nr)
        if grad_placements is None or not self.requires_grad:
            return local
        wanted = [dual(p) for p in self._placements]
        given = normalized(grad_placements, len(self._whole))
        found: Tensor = moved(local, (), route(self._whole, self._mesh, given, wanted))
        return found

    @property
    def _local_tensor(self) -> Any:
        return alias(self)

    @property
    def _spec(self) -> DTensorSpec:
        meta = TensorMeta(self.shape, self.stride(), self.dtype)
        return DTensorSpec(self._mesh, self._placements, meta)

    @property
    def device_mesh(self) -> Any:
        """The mesh of processes that its parts lie on."""
        return self._mesh

    @property
    def placements(self) -> Any:
        """A placement (Shard, Replicate, Partial) for each dim of the mesh."""
        return self._placements

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole tensor, on every rank; collective. The part's own memory, where that is the whole."""
        everywhere = [Replicate()] * self._mesh.ndim
        return self.redistribute(self._mesh, everywhere).to_local(grad_placements=grad_placements)

    def redistribute(
        self,
        device_mesh: Any = None,
        placements: Any = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:
        """The same tensor in other parts; in the same memory where nothing has to move.

        forward_dtype: what it is cast to before it is sent. backward_dtype: likewise of the gradient.
        """
        mesh = device_mesh or self._mesh
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if mesh != self._mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        for mine, other in zip(self._placements, placements, strict=True):
            if other.is_partial() and mine != other:
                raise RuntimeError(
                    f"Can not redistribute from {mine} to {other}, redistributing to Partial is for "
                    f"internal use "
                    "only!"
                )
        target = normalized(placements, len(self._whole))
        local = alias(self, self._grad_node, self._output_nr)
        cast = local if forward_dtype is None else local.to(forward_dtype)
        found = moved(cast, route(self._whole, mesh, self._placements, target), dtype=backward_dtype)
        return make(local.view_as(local) if found is local else found, mesh, target, self._whole)

    # --- what is asked of a tensor without an op --------------------------------------------------

    @property
    def shape(self) -> Size:
        """The whole tensor's shape; that of the part here is `to_local().shape`."""
        return Size(self._whole)

    def size(self, dim: int | None = None) -> Any:
        """Of the whole."""
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        """Of the whole."""
        return self.shape.numel()

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Of the whole, row by row."""
        steps = torch.empty(self._whole, device="meta").stride()
        return steps if dim is None else steps[dim]

    def _converted(self, method: str, args: Any, kwargs: Any) -> DTensor:
        local = alias(self, self._grad_node, self._output_nr)
        found = getattr(local, method)(*tree_map(_part, args), **tree_map(_part, kwargs))
        return self if found is local else make(found, self._mesh, self._placements, self._whole)

    def to(self, *args: Any, **kwargs: Any) -> DTensor:
        """The same parts, in another dtype or on another device; the mesh stays."""
        return self._converted("to", args, kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> DTensor:
        """The same parts in the CPU's memory."""
        return self._converted("cpu", args, kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> DTensor:
        """The same parts on a CUDA device."""
        return self._converted("cuda", args, kwargs)

    def is_same_size(self, other: Tensor) -> bool:
        """Of the wholes."""
        return self.shape == other.shape

    def __len__(self) -> int:
        return self._whole[0]

    def resize_(self, *args: Any, **kwargs: Any) -> Any:
        """Is refused: parts do not tell how they would lie."""
        raise _unregistered("resize_")

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """The gradient may be a DTensor, which then lies as it is needed."""
        local, gradient = self._graph_s_gradient(gradient)
        local.backward(gradient, retain_graph, create_graph, inputs)

    def _graph_s_gradient(self, gradient: Any) -> tuple[Tensor, Any]:
        """(this rank's part, its gradient): what the graph knows."""
        local = alias(self, self._grad_node, self._output_nr)
        if isinstance(gradient, DTensor):
            gradient = gradient.redistribute(self._mesh, [dual(p) for p in self._placements]).to_local()
        elif gradient is None and self._whole == ():
            gradient = torch.ones_like(local)
        return local, gradient

    def detach(self) -> DTensor:
        """The same parts outside the graph."""
        return make(alias(self), self._mesh, self._placements, self._whole)

    @property
    def data(self) -> Any:
        """The same parts, written to behind autograd's back."""
        read = getattr(Tensor.data, "fget")
        return make(read(alias(self)), self._mesh, self._placements, self._whole)

    @data.setter
    def data(self, value: Any) -> None:
        getattr(Tensor.data, "fset")(self, value)
        if isinstance(value, DTensor):
            self._mesh, self._placements, self._whole = value._mesh, value._placements, value._whole

    def _shown_gradient(self, found: Any) -> Any:
        if isinstance(found, DTensor):
            return found
        return make(found, self._mesh, [dual(p) for p in self._placements], self._whole)

    @property
    def grad(self) -> Any:
        """The gradient, in the same parts; of terms, replicated."""
        found = getattr(Tensor.grad, "fget")(self)
        return None if found is None else self._shown_gradient(found)

    @grad.setter
    def grad(self, value: Any) -> None:
        getattr(Tensor.grad, "fset")(self, value)

    def register_hook(self, hook: Any) -> Any:
        """Call `hook(grad)` with the gradient, a DTensor, when it is known; a result replaces it."""
        mesh, lying, whole = self._mesh, [dual(p) for p in self._placements], self._whole

        def heard(grad: Any) -> Any:
            given = grad if grad is None or isinstance(grad, DTensor) else make(grad, mesh, lying, whole)
            found = hook(given)
            return found.redistribute(mesh, lying).to_local() if isinstance(found, DTensor) else found

        return super().register_hook(heard)

    def _state(self, local: Tensor) -> DTensor:
        """An optimizer's state of this parameter."""
        return make(local, self._mesh, self._placements, self._whole)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            copied = self._state(alias(self).clone()).requires_grad_(self.requires_grad)
            if hasattr(self, "_is_param"):
                setattr(copied, "_is_param", True)
            memo[id(self)] = copied
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        told = alias(self), self._mesh, self._placements, self._whole, self.requires_grad
        return _rebuilt, (*told, hasattr(self, "_is_param"))

    def __repr__(self) -> str:
        return (
            f"DTensor(local_tensor={alias(self)!r}, device_mesh={self._mesh}, placements={self._placements})"
        )


def _unregistered(name: str) -> NotImplementedError:
    return NotImplementedError(f"Operator aten.{name}.default does not have a sharding strategy registered.")


def make(local: Tensor, mesh: Any, placements: Any, shape: Any) -> DTensor:
    """A DTensor around this rank's part."""
    shown: Any = alias(local, local._grad_node, local._output_nr, DTensor)
    made: DTensor = shown
    made._mesh, made._placements, made._whole = mesh, tuple(placements), tuple(shape)
    return made


def _rebuilt(
    local: Tensor, mesh: Any, placements: Any, shape: Any, requires_grad: bool, parameter: bool = False
) -> DTensor:
    """A DTensor of a file: a leaf. parameter: whether it counts as one; older files do not tell."""
    made = make(local, mesh, placements, shape)
    made.requires_grad_(requires_grad)
    if parameter:
        setattr(made, "_is_param", True)
    return made


class _Held(torch.autograd.Function):
    """A tensor that becomes a part: the DTensor is no leaf, and may be written to."""

    @staticmethod
    def forward(ctx: Any, local: Any) -> Any:
        """The same memory."""
        return alias(local)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """As it comes."""
        return grads[0]


def _complete(mesh: Any, placements: Any, ndim: int) -> tuple[Placement, ...]:
    if placements is None:
        everywhere: tuple[Placement, ...] = (Replicate(),) * mesh.ndim
        return everywhere
    if len(placements) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! Found placements "
            f"length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    complete: tuple[Placement, ...] = normalized(placements, ndim)
    return complete


def distribute_tensor(
    tensor: Tensor, device_mesh: Any = None, placements: Any = None, *, src_data_rank: int | None = 0
) -> DTensor:
    """`tensor` in parts (default: rows along the first dim of the mesh), of rank `src_data_rank`'s values.

    None: each rank takes its part of its own values.
    """
    device_mesh = device_mesh or current_mesh()
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!"
        )
    placements = _complete(device_mesh, placements, tensor.ndim)
    if isinstance(tensor, DTensor):
        return _as_it_lies(tensor, device_mesh, placements)
    whole = tensor.detach()
    if not whole.is_meta:
        whole = whole.to(device_mesh.device_type)
    if src_data_rank is not None and not whole.is_meta and device_mesh.get_coordinate() is not None:
        whole = whole.clone()
        for number in range(device_mesh.ndim):
            group = device_mesh.get_group(number)
            dist.broadcast(whole, dist.get_global_rank(group, src_data_rank), group=group)
    made = make(local_part(whole, device_mesh, placements), device_mesh, placements, tensor.shape)
    made.requires_grad_(tensor.requires_grad)
    return made


def _as_it_lies(tensor: DTensor, mesh: Any, placements: tuple[Placement, ...]) -> DTensor:
    """A tensor that lies so already; ValueError where it does not."""
    if tensor._mesh != mesh:
        raise ValueError(
            f"Cannot distribute a DTensor with device mesh {tensor._mesh} to a different device mesh {mesh}."
        )
    if tensor._placements != placements:
        raise ValueError(
            f"Cannot distribute a DTensor with placements {tensor._placements} to a different placements "
            f"{placements}. do you want to call `redistribute` instead?"
        )
    return tensor


# --- ops --------------------------------------------------------------------------------------------

# Functions that take over an op of DTensors while a context is entered, by its name.
TAKEN_OVER: dict[str, Any] = {}
# Whether tensors that are not DTensors count as replicated ones: one entry for each such context.
REPLICATED: list[bool] = []


def _pointwise(name: str) -> bool:
    row = ROWS.get(name) or ROWS.get(name.rstrip("_"))
    return name in _LOCAL or (row is not None and row.kind == "pointwise")


def run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """func(*args, **kwargs), of which some are DTensors."""
    name = getattr(func, "__name__", "")
    if name in TAKEN_OVER:
        return TAKEN_OVER[name](*args, **kwargs)
    if isinstance(kwargs.get("out"), DTensor):
        return _into(func, args, kwargs)
    given = [t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor)]
    # The first of the largest number of dims: numbers that all ranks have go with any tensor.
    first = max((t for t in given if isinstance(t, DTensor)), key=lambda t: t.ndim)
    if any(not isinstance(t, DTensor) and t.ndim for t in given):
        args, kwargs = _mixed(name, args, kwargs, first)
        given = [t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor)]
    lies = first._mesh, first._placements, first._whole
    alike = all(
        (t._mesh, t._placements, t._whole) == lies or _number(t, first)
        for t in given
        if isinstance(t, DTensor)
    )
    if alike and not any(p.is_partial() for p in first._placements) and _pointwise(name):
        return _by_parts(func, args, kwargs, first)
    tracked = torch.is_grad_enabled() and any(t.requires_grad for t in given)
    if name in _NORMS and len(given) == 1 and len(args) <= 2 and kwargs.get("dim") is None and not tracked:
        order = _order(args, kwargs)
        if order is not None and not any(p.is_partial() for p in first._placements):
            return _norm(func, first, order, args, kwargs)
    if name in _MADE_LIKE:
        made = func(*tree_map(_part, args), **kwargs)
        everywhere = [Replicate()] * first._mesh.ndim
        like = made.shape == first.shape and not any(p.is_partial() for p in first._placements)
        lying = first._placements if like else everywhere
        return make(local_part(made, first._mesh, lying), first._mesh, lying, made.shape)
    if name in _RESHAPING:
        raise _unregistered(_RESHAPING[name])
    in_place = name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
    if "out" not in kwargs and rule_of(name) is not None:
        plan = _plan(func, name, args, kwargs, first._mesh, in_place)
        if plan is not None:
            return _planned(func, given, args, kwargs, plan, in_place)
    return _gathered(func, args, kwargs, first, in_place)


def _mixed(name: str, args: Any, kwargs: Any, like: DTensor) -> Any:
    """The arguments, where some are tensors of this rank only."""
    if name == "add_" and hooks._runs.stack:  # what backward brings is a part
        return args, kwargs
    alone = [t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor) and not isinstance(t, DTensor)]
    if any(t.numel() == t.ndim == 1 for t in alone):
        warn(
            "Found a non-scalar tensor with numel=1 and ndim!=0, we are implicitly creating a replicated "
            "DTensor for it. However, please consider changing it to a scalar tensor or explicitly create a "
            "DTensor under distributed environment."
        )
    if not REPLICATED and any(t.numel() != 1 for t in alone):
        raise RuntimeError(
            f"{name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to "
            "DTensor before calling distributed operators! Please see "
            "https://docs.pytorch.org/docs/main/"
            "distributed.tensor.html#mixed-tensor-and-dtensor-operations for more details."
        )
    everywhere = [Replicate()] * like._mesh.ndim

    def replicated(value: Any) -> Any:
        plain = isinstance(value, Tensor) and not isinstance(value, DTensor)
        return make(value, like._mesh, everywhere, value.shape) if plain else value

    return tree_map(replicated, (args, kwargs))


def _number(t: DTensor, like: DTensor) -> bool:
    """Whether it is a number that all ranks of a mesh have, and its gradient has no terms of others."""
    if t._whole or t._mesh != like._mesh or not all(p.is_replicate() for p in t._placements):
        return False
    tracked = t.requires_grad and torch.is_grad_enabled()
    return not tracked or t._placements == like._placements


def _lying(t: Any, mesh: Any) -> tuple[Placement, ...]:
    return t._placements if isinstance(t, DTensor) else (Replicate(),) * mesh.ndim


class _Plan(NamedTuple):
    """How an op is done on parts. moves: of each operand the steps that bring its part to where it is to lie,
    and the dims of the mesh over which its gradient's terms are summed. results, shapes: how the results
    lie, and the whole ones' shapes. function: what each rank calls, if it is not the op.
    """

    moves: list[tuple[list[Any], list[int]]]
    results: list[Placement]
    shapes: list[tuple[int, ...]]
    function: Any
    mesh: Any


# Plans of calls that came before, None where the op has none: what meta tensors and rules tell. The
# meshes beside them, by whose identities they are known, live as long.
_plans: dict[Any, tuple[_Plan | None, list[Any]]] = {}
_MOST_PLANS = 4096


def _plan(func: Any, name: str, args: Any, kwargs: dict[str, Any], mesh: Any, in_place: bool) -> _Plan | None:
    """The plan of a call; that of one before which was like it in all that plans depend on."""
    try:
        key = func, id(mesh), in_place, torch.is_grad_enabled(), _key(args), _key(kwargs)
        known = _plans.get(key)
    except TypeError:  # an argument without a hash
        return _made_plan(func, name, args, kwargs, mesh, in_place)
    if known is None:
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        meshes = [t._mesh for t in flatten((args, kwargs))[0] if isinstance(t, DTensor)]
        known = _plans[key] = _made_plan(func, name, args, kwargs, mesh, in_place), meshes
    return known[0]


def _key(value: Any) -> Any:
    """What a plan depends on of an argument: of a tensor how it lies, its shape and dtype."""
    if isinstance(value, DTensor):
        return value._whole, value._placements, id(value._mesh), value.dtype, value.requires_grad
    if isinstance(value, Tensor):
        return tuple(value.shape), value.dtype, value.requires_grad
    if isinstance(value, (list, tuple)):
        return type(value), *[_key(v) for v in value]
    if isinstance(value, dict):
        return tuple([(name, _key(v)) for name, v in value.items()])
    if isinstance(value, slice):
        return slice, value.start, value.stop, value.step
    return type(value), value


def _made_plan(
    func: Any, name: str, args: Any, kwargs: dict[str, Any], mesh: Any, in_place: bool
) -> _Plan | None:
    """The plan of a call: a strategy for each dim of the mesh."""
    given = [t for t in flatten((args, kwargs))[0] if isinstance(t, Tensor)]
    if any(isinstance(t, DTensor) and t._mesh != mesh for t in given):
        raise RuntimeError(
            f"torch.{name}: expected DTensors of one mesh, got several; redistribute() needs one, too: make "
            "them anew by from_local()"
        )
    call = Call(func, name, args, kwargs)
    lying = [_lying(t, mesh) for t in given]
    chosen: list[Strategy] = []
    for number in range(mesh.ndim):
        found = choose(call, mesh, number, [places[number] for places in lying], in_place)
        if found is None:
            return None
        chosen.append(found)
    placements = [list(each) for each in zip(*(strategy.operands for strategy in chosen), strict=True)]
    results = [strategy.result for strategy in chosen]
    moves = []
    for t, places, target in zip(given, lying, placements, strict=True):
        # Where a replicated one takes part in results that are not, each rank has a term of its gradient.
        terms = [n for n, p in enumerate(target) if p.is_replicate() and not results[n].is_replicate()]
        summing = t.requires_grad and torch.is_grad_enabled()
        moves.append((route(t.shape, mesh, places, target), terms if summing else []))
    return _Plan(moves, results, call.results, local_function(call, mesh, results, placements), mesh)


def _planned(func: Any, given: list[Any], args: Any, kwargs: Any, plan: _Plan, in_place: bool) -> Any:
    """The op on parts that lie as a plan asks for."""
    mesh, results = plan.mesh, plan.results
    parts = iter(
        [
            summed(moved(_part(t), steps), mesh, terms)
            for t, (steps, terms) in zip(given, plan.moves, strict=True)
        ]
    )
    args, kwargs = tree_map(lambda v: next(parts) if isinstance(v, Tensor) else v, (args, kwargs))
    result = (plan.function or func)(*args, **kwargs)
    if in_place:
        return _continued(given[0], result)
    shapes = iter(plan.shapes)

    def laid(value: Any) -> Any:
        return (
            make(shared(value, mesh, results), mesh, results, next(shapes))
            if isinstance(value, Tensor)
            else value
        )

    return laid(result) if isinstance(result, Tensor) else tree_map(laid, result)


def _gathered(func: Any, args: Any, kwargs: Any, like: DTensor, in_place: bool) -> Any:
    """The op on whole tensors; each rank has the result."""
    # What is written to is a copy, not the memory of a part that is the whole.
    whole = _whole_copied if in_place else _whole
    wholes = tree_map(whole, args)
    result = func(*wholes, **tree_map(whole, kwargs))
    everywhere = [Replicate()] * like._mesh.ndim
    if in_place:
        target = (*args, kwargs.get("input"))[0]
        result = wholes[0] if result is None else result  # a write by index gives nothing
        written = make(_whole(result), like._mesh, everywhere, target.shape)
        return target.copy_(written.redistribute(target._mesh, target._placements))
    return tree_map(
        lambda v: make(v, like._mesh, everywhere, v.shape) if isinstance(v, Tensor) else v, result
    )


def _into(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The op, and its result in the parts of `out`, which is what is returned."""
    out = kwargs["out"]
    found = run(func, args, {name: value for name, value in kwargs.items() if name != "out"})
    return out.copy_(found.redistribute(out._mesh, out._placements).to(out.dtype))


def _continued(target: DTensor, result: Tensor) -> DTensor:
    """A DTensor that was written to, at the place in the graph that its part has now."""
    target._grad_node, target._output_nr = result._grad_node, result._output_nr
    return target


def _whole(value: Any) -> Any:
    return value.full_tensor() if isinstance(value, DTensor) else value


def _whole_copied(value: Any) -> Any:
    return value.full_tensor().clone() if isinstance(value, DTensor) else value


def _part(value: Any) -> Any:
    return value.to_local() if isinstance(value, DTensor) else value


def _by_parts(func: Any, args: Any, kwargs: dict[str, Any], like: DTensor) -> Any:
    """The op on each rank's parts; a result of a part's shape is a DTensor again."""
    result = func(*tree_map(_part, args), **tree_map(_part, kwargs))
    if func.__name__.endswith("_") and isinstance(target := (*args, kwargs.get("input"))[0], DTensor):
        return _continued(target, result)
    return tree_map(
        lambda v: (
            make(v, like._mesh, like._placements, like._whole)
            if isinstance(v, Tensor) and v._geometry.shape == like._geometry.shape
            else v
        ),
        result,
    )


def _order(args: Any, kwargs: dict[str, Any]) -> float | None:
    """The order of a norm; None where the norm does not follow from those of parts."""
    options = {"ord": 2, "p": 2, **kwargs, **dict(zip(("input", "ord"), args))}
    given = options["ord"] if options["ord"] != 2 else options["p"]
    if given in ("fro", None):
        return 2.0
    return float(given) if isinstance(given, (int, float)) and given >= 0 else None


def _norm(func: Any, t: DTensor, order: float, args: Any, kwargs: dict[str, Any]) -> DTensor:
    """A norm of all elements: of the parts, then of the parts' results."""
    plain, extreme = order in (0.0, 1.0, float("inf")), order == float("inf")
    found = (
        torch.zeros((), dtype=t.dtype)
        if extreme and not t._geometry.size
        else func(*tree_map(_part, args), **tree_map(_part, kwargs))
    )
    found = found if plain else found**order
    for number, placement in enumerate(t._placements):
        if isinstance(placement, _Cut):
            dist.all_reduce(
                found, dist.ReduceOp.MAX if extreme else dist.ReduceOp.SUM, group=t._mesh.get_group(number)
            )
    found = found if plain else found ** (1 / order)
    return make(found, t._mesh, [Replicate()] * t._mesh.ndim, found.shape)
