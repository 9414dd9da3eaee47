"""state_dict() and load_state_dict(): a module's persistent tensors by dotted path."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import rushlight as torch
from rushlight.__future__ import get_swap_module_params_on_conversion
from rushlight._engine.core.callers import warn
from rushlight.nn.modules.base.hooks import _WrappedHook
from rushlight.nn.modules.base.tables import Tables
from rushlight.nn.parameter import Parameter, is_lazy
from rushlight.utils.hooks import RemovableHandle, add_hook

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class State(Tables):
    """The part of Module that reads and writes state dicts."""

    # --- writing ----------------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """What else `state_dict()` should hold; override it together with set_extra_state()."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be "
            "called. Override it in the module's class."
        )

    def set_extra_state(self, state: Any) -> None:
        """Receive from `load_state_dict()` what get_extra_state() returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be "
            "called. Override it in the module's class."
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put this module's own tensors into `destination`; may be overridden."""
        for name, t in _kept(self).items():
            # detach() would give a plain empty tensor: an uninitialised one is written as itself.
            destination[prefix + name] = t if keep_vars or is_lazy(t) else t.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """All parameters and persistent buffers by dotted path, in an OrderedDict.

        The tensors share memory with the module's; `keep_vars` gives the very Parameters.
        """
        if args:
            destination, prefix, keep_vars = _positional(args, destination, prefix, keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            found = hook(self, destination, prefix, local_metadata)
            if not getattr(hook, "_from_public_api", False):
                destination = destination if found is None else found
            elif found is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that "
                "was previously registered via register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata)` may change the state dict in place."""
        # Hooks registered by the private method may replace it; the mark tells them apart.
        setattr(hook, "_from_public_api", True)
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, prefix, keep_vars)` is called before the state is read."""
        return add_hook(self._state_dict_pre_hooks, hook)

    # --- reading ----------------------------------------------------------------------------------

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return add_hook(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call the hook before this module's state is loaded; it may change the arguments.

        `hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)`.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """`hook(module, incompatible_keys)` may change the lists of keys in place."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own tensors (not the children's); may be overridden."""
        self._modernise(state_dict, prefix, local_metadata.get("version", None), error_msgs)
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        local = _kept(self)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, current in local.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(name, key, current, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            unexpected_keys.extend(self._unexpected(state_dict, prefix, local))

    def _modernise(self, state_dict: Any, prefix: str, version: int | None, error_msgs: list[str]) -> None:
        """Change what an older version of the module has written."""

    def _load_one(
        self, name: str, key: str, current: Any, given: Any, assign: bool, error_msgs: list[str]
    ) -> None:
        if not isinstance(given, torch.Tensor):
            error_msgs.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or '
                f"Tensor-like object from checkpoint but received {type(given)}"
            )
            return
        lazy = is_lazy(current)
        if not lazy and len(current.shape) == 0 and len(given.shape) == 1:
            given = given[0]  # scalars were written as vectors of one element once
        if not lazy and given.shape != current.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} "
                f"from checkpoint, the shape in current model is {current.shape}."
            )
            return
        if current.is_meta and not given.is_meta and not assign:
            _warn_meta(key)
        swap = get_swap_module_params_on_conversion()
        try:
            with torch.no_grad():
                if swap:
                    _exchange(current, given, assign)
                else:
                    self._put(name, current, given, assign)
        except Exception as ex:
            error_msgs.append(
                f'While {"swapping" if swap else "copying"} the parameter named "{key}", whose dimensions in '
                f"the model are {current.size()} and whose dimensions in the checkpoint "
                f"are {given.size()}, an exception occurred : {ex.args}."
            )

    def _put(self, name: str, current: Any, given: Any, assign: bool) -> None:
        if not assign:
            current.copy_(given)
            return
        if isinstance(current, Parameter):
            if isinstance(given, Parameter):
                given.requires_grad_(current.requires_grad)
            else:
                given = Parameter(given, requires_grad=current.requires_grad)
        setattr(self, name, given)

    def _load_extra_state(
        self, state_dict: Any, prefix: str, strict: bool, missing_keys: list[str], unexpected_keys: list[str]
    ) -> None:
        key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not State.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def _unexpected(self, state_dict: Any, prefix: str, local: dict[str, Any]) -> list[str]:
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        found = []
        for key in state_dict:
            if key.startswith(prefix) and key != extra:
                first, dot, _ = key[len(prefix) :].partition(".")
                if first not in (self._modules if dot else local):
                    found.append(key)
        return found

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Copy the tensors of a state dict into this module's; returns the keys that did not match.

        `strict` makes missing and unexpected keys an error. `assign` takes the given tensors
        themselves instead of copying their values. All errors are collected into one RuntimeError,
        and a failed load leaves the module as it was.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            setattr(state_dict, "_metadata", metadata)
        backup = None if _fits(self, state_dict, strict) else _Backup(self)
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        try:
            _load(self, state_dict, "", metadata, assign, strict, (missing, unexpected, errors))
            if strict:
                errors[:0] = _key_errors(missing, unexpected)
            if errors:
                raise RuntimeError(
                    f"Error(s) in loading state_dict for {self.__class__.__name__}:\n\t" + "\n\t".join(errors)
                )
        except BaseException:
            if backup is not None:
                backup.restore()
            raise
        return _IncompatibleKeys(missing, unexpected)


def _kept(module: Any) -> dict[str, Any]:
    """A module's own tensors that are in its state dict."""
    hidden, tables = module._non_persistent_buffers_set, (module._parameters, module._buffers)
    return {name: t for table in tables for name, t in table.items() if t is not None and name not in hidden}


def _load(
    module: Any,
    state_dict: Any,
    prefix: str,
    metadata: Any,
    assign: bool,
    strict: bool,
    report: tuple[list[str], list[str], list[str]],
) -> None:
    missing, unexpected, errors = report
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    # Modules always look for missing and unexpected keys: load_state_dict returns them.
    module._load_from_state_dict(state_dict, prefix, local_metadata, True, missing, unexpected, errors)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            part = {k: v for k, v in state_dict.items() if k.startswith(below)}
            _load(child, part, below, metadata, assign, strict, report)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, _IncompatibleKeys(missing, unexpected)) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                "values, if incompatible_keys need to be modified, it should be done inplace."
            )


def _key_errors(missing: list[str], unexpected: list[str]) -> list[str]:
    return [
        f"{what} key(s) in state_dict: {', '.join(f'{chr(34)}{k}{chr(34)}' for k in keys)}. "
        for what, keys in (("Missing", missing), ("Unexpected", unexpected))
        if keys
    ]


def _fits(module: Any, state_dict: Any, strict: bool) -> bool:
    """Whether keys and shapes agree, so that the load cannot fail half-way."""
    keys = 0
    for path, m in module.named_modules(remove_duplicate=False):
        prefix = f"{path}." if path else ""
        for name, current in _kept(m).items():
            keys += 1
            if not _suits(current, state_dict.get(prefix + name), strict):
                return False
    return not strict or keys == len(state_dict)


def _suits(current: Any, given: Any, strict: bool) -> bool:
    if given is None:
        return not strict
    return (
        isinstance(given, torch.Tensor)
        and not is_lazy(current)
        and not is_lazy(given)
        and given.shape == current.shape
    )


class _Backup:
    """A copy of all tensors of a module, made before a load that is likely to fail."""

    def __init__(self, module: Any) -> None:
        self.saved = [
            (table, name, t, None if is_lazy(t) else t.detach().clone())
            for m in module.modules()
            for table in (m._parameters, m._buffers)
            for name, t in table.items()
            if t is not None
        ]

    def restore(self) -> None:
        with torch.no_grad():
            for table, name, t, copy in self.saved:
                table[name] = t
                if copy is not None and not t.is_meta:
                    t.copy_(copy)


def _positional(
    args: tuple[Any, ...], destination: Any, prefix: str, keep_vars: bool
) -> tuple[Any, str, bool]:
    warn(
        "Positional args are being deprecated, use kwargs instead. Refer to "
        "https://pytorch.org/docs/main/generated/torch.nn.Module.html"
        "#torch.nn.Module.state_dict for details.",
        FutureWarning,
    )
    given = (*args, *(destination, prefix, keep_vars)[len(args) :])
    return given[0], given[1], given[2]


def _warn_meta(key: str) -> None:
    warn(
        f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
        "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state "
        "dictionary to their corresponding key in the module instead of copying them in place?)"
    )


def _exchange(current: Any, given: Any, assign: bool) -> None:
    """Make a parameter or buffer all that its `module_load` answers."""
    # of what few programs ask for
    from rushlight.utils import swap_tensors

    new = current.module_load(given, assign=assign)
    if new is given or new is current:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the "
            "inputs in module_load"
        )
    if isinstance(current, Parameter):
        if isinstance(new, Parameter):
            new.requires_grad_(current.requires_grad)
        else:
            new = Parameter(new, requires_grad=current.requires_grad)
    swap_tensors(current, new)
