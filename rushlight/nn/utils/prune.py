"""Pruning: masks on parameters, kept in buffers and applied before each forward.

A pruned parameter NAME becomes NAME_orig, a buffer NAME_mask and an attribute NAME, their product.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import rushlight as torch


class BasePruningMethod(ABC):
    """One way to choose what is pruned: subclasses define compute_mask()."""

    # "unstructured" and "structured" see only what earlier methods left; "global" sees all.
    PRUNING_TYPE: str
    _tensor_name: str

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask (of t's shape, 0 where pruned) on top of `default_mask`."""

    def __call__(self, module: Any, inputs: Any) -> None:
        """Set the parameter to original times mask before each forward, as a hook."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Any) -> Any:
        """The original times the mask."""
        name = self._tensor_name
        mask = getattr(module, name + "_mask")
        return mask.to(dtype=getattr(module, name + "_orig").dtype) * getattr(module, name + "_orig")

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a parameter of a module; `importance_scores` (default: itself) decide."""
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        key, earlier = _hook_of(module, name)
        if earlier is not None:
            del module._forward_pre_hooks[key]
            method = _combined(name, earlier, method)
        original = getattr(module, name)
        _check_scores(importance_scores, original, name, module)
        scores = original if importance_scores is None else importance_scores
        if earlier is None:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            mask = torch.ones_like(original)
        else:
            mask = getattr(module, name + "_mask").detach().clone()
        try:
            with torch.no_grad():
                mask = method.compute_mask(scores, default_mask=mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if earlier is None:
                module.register_parameter(name, getattr(module, name + "_orig"))
                del module._parameters[name + "_orig"]
            raise
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """A tensor times the mask that this method chooses for it."""
        scores = t if importance_scores is None else importance_scores
        mask = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Any) -> None:
        """Make the pruned values permanent."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters[name + "_orig"]
        original.data = weight.data
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _hook_of(module: Any, name: str) -> tuple[Any, Any]:
    """The hook that prunes a parameter, behind its key; (None, None) where there is none."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None, None


def _combined(name: str, earlier: Any, method: Any) -> PruningContainer:
    """One method that applies both."""
    if isinstance(earlier, PruningContainer):
        container = earlier
    else:
        container = PruningContainer()
        container._tensor_name = name
        container.add_pruning_method(earlier)
    container.add_pruning_method(method)
    return container


def _check_scores(scores: Any, original: Any, name: str, module: Any) -> None:
    if scores is not None and scores.shape != original.shape:
        raise AssertionError(
            "importance_scores should have the same shape as parameter "
            f"{name} of {module}, got {scores.shape} vs {original.shape}"
        )


class PruningContainer(BasePruningMethod):
    """Several methods on one parameter, in the order they were added."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        for method in args:
            if len(args) == 1:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method for the same parameter; TypeError or ValueError for anything else."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The last method's choice among what the mask leaves."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        left = _left(method, t, mask)
        new = mask.clone()
        new[left] = method.compute_mask(t[left], default_mask=mask[left]).to(dtype=mask.dtype)
        return new


def _left(method: Any, t: Any, mask: Any) -> Any:
    """The index of what a method sees."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return tuple(slice(None) for _ in range(t.dim()))
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    dim = method.dim % t.dim()
    kept = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
    return tuple(kept if d == dim else slice(None) for d in range(t.dim()))


class Identity(BasePruningMethod):
    """Prunes nothing; it only makes the mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask as it was."""
        return default_mask


def _validate_pruning_amount_init(amount: Any) -> None:
    """TypeError and ValueError for what is neither a number of entries nor a share of them."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if float(amount) < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    """ValueError for more entries than there are."""
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}"
        )


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many of `tensor_size` entries an amount is."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


class _Amount(BasePruningMethod):
    """Methods told how much to prune: a number of entries, or a share of them."""

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size: int) -> int:
        """How many of `size` to prune."""
        _validate_pruning_amount(self.amount, size)
        return _compute_nparams_toprune(self.amount, size)


class RandomUnstructured(_Amount):
    """Prunes entries at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask with zeros at `amount` more entries (a count, or a fraction of all), drawn at random."""
        count = self._count(t.nelement())
        return _without(torch.rand_like(t), default_mask, count, largest=True)


class L1Unstructured(_Amount):
    """Prunes the entries of smallest absolute value."""

    PRUNING_TYPE = "unstructured"

    @classmethod
    def apply(  # type: ignore[override] # its arguments are its own
        cls, module: Any, name: str, amount: Any, importance_scores: Any = None
    ) -> Any:
        """Prune a parameter of a module; `importance_scores` (default: itself) decide."""
        return super().apply(module, name, amount, importance_scores=importance_scores)

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask with zeros at the `amount` entries of t that are smallest by absolute value."""
        return _without(torch.abs(t), default_mask, self._count(t.nelement()), largest=False)


def _without(scores: Any, mask: Any, count: int, largest: bool) -> Any:
    mask = mask.clone()
    if count:
        found = torch.topk(scores.reshape(-1), k=count, largest=largest)
        mask.view(-1)[found.indices] = 0
    return mask


class _Structured(_Amount):
    """Methods that prune whole channels along a dim: subclasses say which are `_kept`."""

    PRUNING_TYPE = "structured"
    dim: int

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask with zeros at whole channels along `dim`; ValueError for fewer than 2 dims, IndexError for
        a `dim` that is not there.
        """
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. "
                f"Found tensor of shape {t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = self._count(size)
        if not count:
            return default_mask
        mask = torch.zeros_like(t)
        where: list[Any] = [slice(None)] * t.dim()
        where[self.dim] = self._kept(t, size, count)
        mask[tuple(where)] = 1
        return mask * default_mask.to(dtype=t.dtype)

    def _kept(self, t: Any, size: int, count: int) -> Any:
        raise NotImplementedError


class RandomStructured(_Structured):
    """Prunes whole channels along a dim at random."""

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Any, size: int, count: int) -> Any:
        chance = torch.rand(size)
        return chance > torch.kthvalue(chance, k=count).values


class LnStructured(_Structured):
    """Prunes the channels along a dim with the smallest n-norm."""

    @classmethod
    def apply(  # type: ignore[override] # its arguments are its own
        cls, module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
    ) -> Any:
        """Prune a parameter of a module; `importance_scores` (default: itself) decide."""
        return super().apply(module, name, amount, n, dim, importance_scores=importance_scores)

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n, self.dim = n, dim

    def _kept(self, t: Any, size: int, count: int) -> Any:
        dims = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        return torch.topk(torch.norm(t, p=self.n, dim=dims), k=size - count, largest=True).indices


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is 0."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask times the given one; both of t's shape."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"mask of shape {self.mask.shape} does not fit a tensor of shape {default_mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def _pruned(method: type[BasePruningMethod], module: Any, name: str, *how: Any, **scores: Any) -> Any:
    method.apply(module, name, *how, **scores)
    return module


def identity(module: Any, name: str) -> Any:
    """Make a parameter a pruned one with nothing pruned."""
    return _pruned(Identity, module, name)


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune entries of a parameter at random: a number of them, or a share."""
    return _pruned(RandomUnstructured, module, name, amount)


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the entries of smallest absolute value (or score)."""
    return _pruned(L1Unstructured, module, name, amount=amount, importance_scores=importance_scores)


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune whole channels along `dim` at random."""
    return _pruned(RandomStructured, module, name, amount, dim)


def ln_structured(
    module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
) -> Any:
    """Prune the channels along `dim` with the smallest n-norm."""
    return _pruned(LnStructured, module, name, amount, n, dim, importance_scores=importance_scores)


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune a parameter where `mask` is 0."""
    return _pruned(CustomFromMask, module, name, mask)


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several (module, name) pairs as one tensor, by an unstructured method."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    all_scores = torch.cat([scores.get(pair, getattr(*pair)).detach().reshape(-1) for pair in pairs])
    masks = [getattr(m, name + "_mask", torch.ones_like(getattr(m, name))) for m, name in pairs]
    method = PruningContainer()
    method._tensor_name = "temp"
    one = pruning_method(**kwargs)
    one._tensor_name = "temp"
    if one.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found '
            f"method {pruning_method} of type {one.PRUNING_TYPE}"
        )
    method.add_pruning_method(one)
    final = method.compute_mask(all_scores, torch.cat([m.reshape(-1) for m in masks]))
    start = 0
    for module, name in pairs:
        param = getattr(module, name)
        size = param.numel()
        custom_from_mask(module, name, mask=final[start : start + size].view_as(param))
        start += size


def remove(module: Any, name: str) -> Any:
    """Make a pruning permanent; ValueError where there is none."""
    key, hook = _hook_of(module, name)
    if hook is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Any) -> bool:
    """Whether any parameter here or below is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for m in module.modules()
        for hook in m._forward_pre_hooks.values()
    )
