"""The part of Tensor that faces autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from rushlight._engine.autograd.grad_mode import LOCAL
from rushlight._engine.autograd.node import AccumulateGrad
from rushlight._engine.core import dtype as dt
from rushlight._engine.core.callers import warn
from rushlight._engine.core.recording import TAPE, heard, settle
from rushlight._engine.core.services import service
from rushlight._engine.tensors.lazy_views import place, shared
from rushlight._engine.tensors.storages.storage import INFERRING, SHARED, Storage, fresh, storage

if TYPE_CHECKING:  # it imports this file
    from rushlight._engine.autograd.node import Node
    from rushlight._engine.tensors.tensor import Tensor

    # A part of Tensor: its other parts are there, too.
    _Tensor = Tensor
else:
    _Tensor = object

_new = object.__new__
# Gradients that a compiled step has left in memory which the next one writes to, by their ids; and those of
# them that a program has asked for, and may hold.
LEFT: WeakValueDictionary[int, Tensor] = WeakValueDictionary()
_ASKED: dict[int, Tensor] = {}


def keep_asked() -> None:
    """Let gradients that a program may hold lie elsewhere: a compiled step is about to write to its own."""
    while _ASKED:
        key, grad = _ASKED.popitem()
        LEFT.pop(key, None)
        grad._array = grad._array.copy("K")
        if grad._storage is not None:
            grad._storage._bytes = grad._storage.lent = None


class Gradient(_Tensor):
    """requires_grad, grad, grad_fn, backward, detach, hooks."""

    __slots__ = ()
    _detached: type | None = None  # the class of detach()'s result; None: its own

    @property
    def _recorded(self) -> bool:
        """Whether an op on this tensor would be recorded now."""
        return LOCAL.enabled and self.requires_grad

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow into (or through) this tensor."""
        return self._grad_node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if not (value and getattr(self._grad_node, "open", False)):  # a transform's input requires it already
            self.requires_grad_(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad cannot be deleted")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Turn the tracking of a leaf on or off, in place."""
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        if requires_grad:
            _track(self)
        elif self._grad_node is not None:
            if self._grad_node.__class__ is not AccumulateGrad:
                if getattr(self._grad_node, "open", False):
                    refuse_switch()
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you "
                    "want to use a computed variable in a subgraph that doesn't "
                    "require differentiation use var_no_grad = var.detach()."
                )
            if self._grad_node.apart is None:
                hooks = _table_of(self)
                self._grad_node = None
                _replace_table(self, hooks)
                _switched(self)
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no op made it (as far as autograd knows)."""
        node = self._grad_node
        if node is not None and node.boundary:
            node = node.next[0][0]
        return node is None or node.__class__ is AccumulateGrad

    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor; None for a leaf."""
        return None if self.is_leaf else self._grad_node.settle()

    @property
    def _grad_fn(self) -> Node | None:
        return self.grad_fn

    @_grad_fn.deleter
    def _grad_fn(self) -> None:
        raise RuntimeError("grad_fn cannot be deleted: detach_() cuts a tensor off from its graph")

    @property
    def _backward_hooks(self) -> Any:
        """The functions of register_hook by their numbers, None where there never were any."""
        return _table_of(self)

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: Any) -> None:
        """Another table instead; it waits where the tensor requires no grad (yet)."""
        if hooks is not None and not isinstance(hooks, dict):
            raise TypeError(f"_backward_hooks must be a dict or None, not {type(hooks).__name__}")
        _replace_table(self, hooks)

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise RuntimeError("_backward_hooks cannot be deleted: remove() of a hook's handle takes it back")

    @property
    def _post_accumulate_grad_hooks(self) -> Any:
        """The functions of register_post_accumulate_grad_hook by their numbers, None where there are none."""
        hooks = None if self._grad_node is None else self._grad_node.hooks
        return hooks and (hooks.accumulated or None)

    @property
    def output_nr(self) -> int:
        """Which of grad_fn's results this is."""
        node = self._grad_node
        return node.next[0][1] if node is not None and node.boundary else self._output_nr

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by backward(), or None."""
        found: Tensor | None = getattr(self, "_grad", None)
        node = self._grad_node
        made = found is None and node is not None and node.__class__ is not AccumulateGrad
        if made and not self.is_leaf and not self.retains_grad:
            _warn_non_leaf()
        if found is not None and LEFT and LEFT.get(id(found)) is found:
            _ASKED[id(found)] = found
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            check_grad(self, value)
        if TAPE and (recorder := heard()) is not None:
            recorder.call(getattr(Gradient.grad, "fset"), self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def _grad(self) -> Tensor | None:
        """`grad`, of whose absence nobody is warned. An instance has its slot of that name instead."""
        return getattr(self, "_grad", None)

    @_grad.setter
    def _grad(self, value: Tensor | None) -> None:
        self._grad = value

    @property
    def grad_dtype(self) -> dt.dtype | None:
        """What dtype this leaf's gradients are turned into: its own, unless set; None: as they come."""
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return kept_dtype(self)

    @grad_dtype.setter
    def grad_dtype(self, value: dt.dtype | None) -> None:
        if value is not None and not isinstance(value, dt.dtype):
            raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}")
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        held = getattr(self, "_grad", None)
        if held is not None and value is not None and held._kind.dtype is not value:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{value.legacy}' because there is already a gradient with dtype "
                f"'{held._kind.dtype.c_name}'. Please clear the gradient (.grad = None) before changing "
                "grad_dtype, or ensure the new grad_dtype matches the existing gradient's dtype."
            )
        self.__dict__["_grad_dtype"] = value
        _see_arrivals(self)

    @property
    def _base(self) -> Tensor | None:
        base = getattr(self, "_view_of", None)
        if base is None or (self._storage is not None and self._storage.inference):
            return None
        root: Tensor = base[0]
        while (upper := getattr(root, "_view_of", None)) is not None:
            root = upper[0]
        return root

    @property
    def name(self) -> None:
        """None: PyTorch's tensors have had no names since variables became tensors."""
        return None

    def _is_view(self) -> bool:
        inference = self._storage is not None and self._storage.inference
        return getattr(self, "_view_of", None) is not None and not inference

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add the gradients of this tensor to the leaves' `.grad`; a scalar needs no `gradient`."""
        service("backward pass")(self, gradient, retain_graph, create_graph, inputs=inputs)

    def detach(self) -> Tensor:
        """The same data outside the graph: it shares memory and version, and tracks nothing."""
        # Written out from `alias`, since it is often called.
        other: Tensor = _new(self._detached or self.__class__)
        other._kind = of = self._kind
        other._grad_node, other._output_nr = None, 0
        other._storage = storage(self)
        if of.lazy:
            other._hidden = self._hidden
        elif not (TAPE and shared(self, other)):
            other._array = self._array
        return other

    def detach_(self) -> Tensor:
        """Cut this tensor off from its graph, in place."""
        if self._is_view():
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        self._grad_node, self._output_nr = None, 0
        if TAPE and (heard := getattr(TAPE[-1], "cut_off", None)) is not None:
            heard(self)
        return self

    @property
    def data(self) -> Tensor:
        """The same data with its own version counter, so that autograd does not see writes."""
        if self._kind.lazy or (TAPE and hasattr(TAPE[-1], "exports")):
            return self.detach()  # which a program that is exported can say
        made: Tensor = _new(self._detached or self.__class__)
        made._array, made._kind = self._array, self._kind.plain
        made._grad_node, made._output_nr = None, 0
        held = self._storage
        made._storage = fresh() if INFERRING and held is not None and held.inference else None
        if held is not None and held.lent is not None:
            made._storage = held.apart(0)  # of somebody's array, all that there is to it
        return made

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Gradient):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self._grad_node is not None and value._kind.dtype.category < dt.FLOATING:
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or "
                f"complex dtype, got {value._kind.dtype}"
            )
        if self.layout is not value.layout:
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` "
                f"have incompatible tensor type: {self.layout} and {value.layout}"
            )
        if TAPE:
            settle()  # what was put off is of the memory that it has had
        place(self, value._memory, value._kind)
        own, theirs = 0 if self._storage is None else self._storage.version, value._storage
        # Writes through the other tensor do not count here; a file that processes share has one storage.
        if (
            theirs is not None
            and theirs is not self._storage
            and not theirs.inference
            and theirs not in SHARED
        ):
            theirs = theirs.apart(own)
        self._storage = Storage(own) if theirs is None and own else theirs
        post = self.__dict__.get("_post")
        if post:
            post()

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("data cannot be deleted")

    def retain_grad(self) -> None:
        """Keep this non-leaf tensor's gradient in `.grad` during backward()."""
        # What it needs, tensors.tensor, imports this file.
        from rushlight._engine.autograd.hooks import retain

        if self._grad_node is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if LOCAL.depth:
            refuse_inside("Tensor.retain_grad()", "retain_grad()")
        if not self.is_leaf:
            retain(self)

    @property
    def retains_grad(self) -> bool:
        """Whether a non-leaf tensor keeps its gradient."""
        return bool(self.__dict__.get("_retains_grad"))

    def register_hook(self, hook: Callable[[Tensor], Any]) -> Any:
        """Call `hook(grad)` when this tensor's gradient is known; a result replaces it."""
        # What it needs, tensors.tensor, imports this file.
        from rushlight._engine.autograd.hooks import on_tensor

        return on_tensor(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> Any:
        """Call `hook(tensor)` after backward() has added to this leaf's `.grad`."""
        # What it needs, tensors.tensor, imports this file.
        from rushlight._engine.autograd.hooks import after_accumulation

        return after_accumulation(self, hook)


def kept_dtype(leaf: Any) -> dt.dtype | None:
    """What dtype a leaf's gradients are turned into; None: as they come."""
    found: dt.dtype | None = leaf.__dict__.get("_grad_dtype", leaf._kind.dtype)
    return found


def as_kept(leaf: Any, grad: Any) -> Any:
    """A gradient in the dtype that its leaf keeps gradients in."""
    wanted = kept_dtype(leaf)
    return grad if wanted is None or grad._kind.dtype is wanted else grad.to(wanted)


def _see_arrivals(leaf: Any) -> None:
    """Let gradients of a leaf that has a grad_dtype pass where hooks do: there they are turned into it."""
    if leaf._grad_node is not None and "_grad_dtype" in leaf.__dict__:
        # What it needs, tensors.tensor, imports this file.
        from rushlight._engine.autograd.hooks import hooks_of

        hooks_of(leaf._grad_node)


def _track(t: Any) -> None:
    """Make a tensor a leaf that requires grad, if it does not yet."""
    if t._grad_node is None:
        if t._kind.dtype.category < dt.FLOATING:
            raise RuntimeError(
                "only Tensors of floating point dtype can require gradients; "
                f"got {t._kind.dtype}, convert with .float() first"
            )
        if t._storage is not None and t._storage.inference and not LOCAL.inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
            )
        hooks = _table_of(t)
        t._grad_node = AccumulateGrad(t)
        if hooks is not None:
            del t.__dict__["_unheard_hooks"]
            _replace_table(t, hooks)
        _see_arrivals(t)
        _switched(t)
    elif t._grad_node.__class__ is AccumulateGrad:
        if t._grad_node.apart is not None:
            t._grad_node = AccumulateGrad(t)
    elif getattr(t._grad_node, "open", False):
        refuse_switch()


def _table_of(t: Any) -> Any:
    """`_backward_hooks`, of which no class is asked."""
    node = t._grad_node
    if node is None:
        return t.__dict__.get("_unheard_hooks")
    return None if node.hooks is None else node.hooks.tensor.get(t._output_nr)


def _replace_table(t: Any, hooks: Any) -> None:
    if t._grad_node is not None:
        # What it needs, tensors.tensor, imports this file.
        from rushlight._engine.autograd.hooks import replace_on_tensor

        replace_on_tensor(t, hooks)
    elif hooks is not None:
        t.__dict__["_unheard_hooks"] = hooks
    else:
        t.__dict__.pop("_unheard_hooks", None)


def _switched(leaf: Any) -> None:
    """Earlier views of a tensor require grad as it does."""
    if leaf._storage is not None and leaf._storage.views:
        # What it needs, tensors.tensor, imports this file.
        from rushlight._engine.autograd.in_place import switched

        switched(leaf)


def zero_gradient(grad: Any) -> None:
    """Fill a gradient with zeros, which nothing has led to."""
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad.zero_()


def refuse_switch() -> None:
    """RuntimeError: gradients are not switched on inside transforms."""
    refuse_inside(
        "Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs)", "requires_grad_()"
    )


def refuse_inside(call: str, name: str) -> None:
    """RuntimeError: `call` does not go together with transforms; name: what may be called outside of them."""
    raise RuntimeError(
        f"You are attempting to call {call} inside of a function being transformed by a functorch transform. "
        "This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, "
        f"jacfwd, hessian) or call {name} outside of a function being transformed instead."
    )


def check_grad(tensor: Any, value: Any) -> None:
    """Raise for what cannot be assigned as a tensor's gradient."""
    if not isinstance(value, Gradient):
        raise TypeError(
            f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
        )
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    wanted = kept_dtype(tensor)
    if wanted is not None and value._kind.dtype is not wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{value._kind.dtype.c_name}' to a tensor with "
            f"grad_dtype '{wanted.legacy}'. The gradient must match the tensor's grad_dtype (defaults to the "
            "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None "
            "to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its "
            "gradient may break downstream systems that assume they match."
        )
    if value._kind.device != tensor._kind.device:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{value._kind.device.type}' to a "
            f"tensor with device type '{tensor._kind.device.type}'"
        )
    if value._geometry.shape != tensor._geometry.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value._geometry.shape)}' to a "
            f"tensor of size '{list(tensor._geometry.shape)}'. Please ensure that the "
            "gradient and the tensor are the same size"
        )


def _warn_non_leaf() -> None:
    warn(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
        "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
        "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
        UserWarning,
    )
