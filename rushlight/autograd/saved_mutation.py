"""What allow_mutation_on_saved_tensors keeps: copies of saved tensors, made before they are written to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import MutableMapping
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from rushlight._engine.tensors.tensor import Tensor, storage
from rushlight.utils._python_dispatch import TorchDispatchMode

_OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
    "originally recorded."
)


class _Handle:
    """What a node holds in the stead of a saved tensor."""


class Context:
    """Saved tensors by their handles: as they are (`original`), or copied before a write (`cloned`).

    tid_to_weakhandle: the handle of a tensor of one version; sid_to_tid: the tensors of a storage.
    """

    current: Context | None = None

    def __init__(self) -> None:
        self.cloned: MutableMapping[_Handle, Tensor] = WeakKeyDictionary()
        self.original: MutableMapping[_Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: MutableMapping[Any, _Handle] = WeakValueDictionary()
        self.sid_to_tid: dict[Any, set[Any]] = defaultdict(set)

    def pack(self, t: Tensor) -> _Handle:
        """The handle of a tensor that is saved, the same one for the same values."""
        sid = id(storage(t)), t._version
        tid = (*sid, t.storage_offset(), t.shape, t.stride(), t.dtype, t.is_conj(), t.is_neg())
        self.sid_to_tid[sid].add(tid)
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None:
            handle = self.tid_to_weakhandle[tid] = _Handle()
            self.original[handle] = t.detach()
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        """What was saved; AssertionError outside of the context."""
        found = self.cloned.get(handle)
        found = self.original.get(handle) if found is None else found
        if found is None or Context.current is not self:
            raise AssertionError(_OUTSIDE)
        return found

    def before_write(self, t: Tensor) -> None:
        """Copy all that is saved of a tensor's storage."""
        for tid in self.sid_to_tid.get((id(storage(t)), t._version), ()):
            handle = self.tid_to_weakhandle.get(tid)
            if handle is not None and handle in self.original:
                self.cloned[handle] = self.original.pop(handle).clone()

    def clear(self) -> None:
        """Let go of everything."""
        for kept in (self.cloned, self.original, self.tid_to_weakhandle, self.sid_to_tid):
            kept.clear()


class CloneBeforeWrite(TorchDispatchMode):
    """The mode that sees writes coming."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.writes:
            targets = kwargs["out"] if kwargs and "out" in kwargs else args[0]
            for t in targets if isinstance(targets, (list, tuple)) else (targets,):
                self.context.before_write(t)
        return func(*args, **(kwargs or {}))
