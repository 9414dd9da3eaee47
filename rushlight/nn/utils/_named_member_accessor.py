"""NamedMemberAccessor: a module's tensors and submodules by dotted names, to read, set and swap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import rushlight as torch

_MISSING: Any = object()


def _check(module: Any, name: str, kind: str) -> None:
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')


def _check_tensor(tensor: Any) -> None:
    if not isinstance(tensor, torch.Tensor) and tensor is not None and tensor is not _MISSING:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")


def _held(module: Any, name: str) -> dict[str, Any] | None:
    """The module's parameters or buffers, whichever has the name."""
    return next((held for held in (module._parameters, module._buffers) if name in held), None)


def set_tensor(module: Any, name: str, tensor: Any) -> None:
    """The module's parameter, buffer or attribute `name` becomes a tensor, also one that is no Parameter."""
    _check(module, name, "tensor")
    _check_tensor(tensor)
    held = _held(module, name)
    if held is None:
        setattr(module, name, tensor)
    else:
        held[name] = tensor


def swap_tensor(module: Any, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """set_tensor that gives what was there. AttributeError where nothing was, unless allow_missing."""
    _check(module, name, "tensor")
    _check_tensor(tensor)
    held = _held(module, name)
    before = getattr(module, name, _MISSING) if held is None else held[name]
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    _check_tensor(before)
    if tensor is not _MISSING:
        set_tensor(module, name, tensor)
    elif held is not None:
        del held[name]
    elif before is not _MISSING:
        delattr(module, name)
    return before


def swap_submodule(module: Any, name: str, submodule: Any) -> Any:
    """The module's submodule `name` becomes another; what it was. KeyError where there is none."""
    _check(module, name, "submodule")
    if not isinstance(submodule, torch.nn.Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before = module._modules[name]
    if not isinstance(before, torch.nn.Module):
        raise TypeError(f"{name} attribute is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """A module's tensors and submodules by dotted names ("layer1.conv1.weight").

    Submodules that were found are remembered. AttributeError for names of nothing, TypeError for what is
    neither a tensor nor a module.
    """

    def __init__(self, module: Any) -> None:
        self.module = module
        self.memo: dict[str, Any] = {}

    def _owner(self, name: str) -> tuple[Any, str]:
        prefix, _, last = name.rpartition(".")
        return self.get_submodule(prefix), last

    def get_submodule(self, name: str) -> Any:
        """The submodule of a name; the module itself of ""."""
        if not name:
            return self.module
        if name not in self.memo:
            owner, last = self._owner(name)
            found = getattr(owner, last, _MISSING)
            if found is _MISSING:
                raise AttributeError(f"{owner._get_name()} has no attribute `{last}`")
            if not isinstance(found, torch.nn.Module):
                raise TypeError(f"submodule `{name}`: {found} is not an instance of torch.nn.Module")
            self.memo[name] = found
        return self.memo[name]

    def swap_submodule(self, path: str, value: Any) -> Any:
        """Another submodule in the place of one; what it was."""
        return swap_submodule(*self._owner(path), value)

    def get_tensor(self, name: str) -> Any:
        """A tensor, or None where there is room for one."""
        owner, last = self._owner(name)
        found = getattr(owner, last, _MISSING)
        if found is _MISSING:
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        _check_tensor(found)
        return found

    def set_tensor(self, name: str, value: Any) -> None:
        """Another tensor in the place of one."""
        set_tensor(*self._owner(name), value)

    def del_tensor(self, name: str) -> None:
        """Take a tensor away."""
        owner, last = self._owner(name)
        try:
            delattr(owner, last)
        except AttributeError as error:
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`") from error

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """Another tensor in the place of one; what it was."""
        return swap_tensor(*self._owner(name), value, allow_missing=allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Any]:
        """get_tensor of each name."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Any]) -> None:
        """set_tensor of each name; AssertionError for other numbers of names than of values."""
        self.set_tensors_dict(dict(_paired(names, values)))

    def set_tensors_dict(self, named_tensors: dict[str, Any]) -> None:
        """set_tensor of each entry."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """del_tensor of each name."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(
        self, names: Iterable[str], values: Iterable[Any], allow_missing: bool = False
    ) -> list[Any]:
        """swap_tensor of each name; AssertionError for other numbers of names than of values."""
        return [
            self.swap_tensor(name, value, allow_missing=allow_missing)
            for name, value in _paired(names, values)
        ]

    def swap_tensors_dict(
        self, named_tensors: dict[str, Any], allow_missing: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """swap_tensor of each entry: what they were, and the names of which there was nothing.

        All is as before where an error is raised; RuntimeError for such names, unless allow_missing.
        """
        before: dict[str, Any] = {}
        try:
            for name, tensor in named_tensors.items():
                before[name] = self.swap_tensor(name, tensor, allow_missing=True)
            missing = [name for name, tensor in before.items() if tensor is _MISSING]
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except Exception:
            for name, tensor in before.items():
                self.swap_tensor(name, tensor, allow_missing=True)
            raise
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The names of tensors that are not among the keys, and the keys that are no such names."""
        given, known = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(known - given), sorted(given - known)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """(name, parameter) of each."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """(name, buffer) of each."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """(name, tensor) of each parameter, then of each buffer."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """(name, module) of each."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)


def _paired(names: Iterable[str], values: Iterable[Any]) -> list[tuple[str, Any]]:
    names, values = list(names), list(values)
    if len(names) != len(values):
        raise AssertionError(
            f"names and values must have the same length, got {len(names)} names and {len(values)} values"
        )
    return list(zip(names, values, strict=True))
