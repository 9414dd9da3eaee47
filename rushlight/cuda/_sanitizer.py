"""torch.cuda._sanitizer: finds work on streams that nothing orders, while a program runs.

`enable_cuda_sanitizer()` looks at every op from then on: which memory it reads and writes, on which stream.
What comes after what is known from events and from the host's waiting (`_gpu_trace`). An op that reads what
another stream writes, with nothing between them, is told with both lines, and raises CUDASanitizerErrors.
Under `RUSHLIGHT_CUDA=simulated,check` devices find such things themselves.
"""

from __future__ import annotations

import logging
import re
import sys
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import Any, TypeAlias

from rushlight import cuda
from rushlight._engine.devices.cuda.accounts import tracing
from rushlight._engine.tensors.tensor import Tensor
from rushlight.utils._python_dispatch import TorchDispatchMode
from rushlight.utils._pytree import tree_leaves

# What programs call numbers of memory, streams, events and ops.
DataPtr: TypeAlias = int
StreamId: TypeAlias = int
EventId: TypeAlias = int
SeqNum: TypeAlias = int
logger = logging.getLogger("torch.cuda._sanitizer")
FACTORY_FUNCTION_REGEX = re.compile("(new_.*|.*_like)")
_LATE = "Perhaps the sanitizer was enabled after some torch operations?"


class AccessType(Enum):
    """What is done to memory."""

    READ = auto()
    WRITE = auto()

    def __str__(self) -> str:
        return "reading from" if self is AccessType.READ else "writing to"


@dataclass
class Access:
    """An op's use of a tensor's memory. seq_num: the op's number; aliases: the names of its arguments."""

    type: AccessType
    seq_num: SeqNum
    stream: StreamId
    operator: Any
    aliases: list[str]
    is_output: bool
    stack_trace: traceback.StackSummary


class SynchronizationError(Exception):
    """What is not ordered."""


class UnsynchronizedAccessError(SynchronizationError):
    """Two uses of memory, on two streams, that nothing orders."""

    def __init__(
        self,
        data_ptr: DataPtr,
        allocation_stack_trace: traceback.StackSummary | None,
        current_access: Access,
        previous_access: Access,
    ) -> None:
        self.data_ptr, self.allocation_stack_trace = data_ptr, allocation_stack_trace
        self.current_access, self.previous_access = current_access, previous_access

    def __str__(self) -> str:
        first, second = _told(self.current_access), _told(self.previous_access)
        if self.allocation_stack_trace is None:
            allocated = "Trace for tensor allocation not found.\n"
        else:
            lines = "".join(self.allocation_stack_trace.format())
            allocated = f"Tensor was allocated with stack trace:\n{lines}"
        return (
            "============================\nCSAN detected a possible data race on tensor with data pointer "
            f"{self.data_ptr}\nAccess by {first}Previous access by {second}{allocated}"
        )


def _told(access: Access) -> str:
    what = [f"argument(s) {', '.join(access.aliases)}"] if access.aliases else []
    if access.is_output:
        what.append("the output" if not what else "and to the output")
    return (
        f"stream {access.stream} during kernel:\n{access.operator}\n{access.type} {', '.join(what)}\n"
        f"With stack trace:\n{''.join(access.stack_trace.format())}\n"
    )


class CUDASanitizerErrors(Exception):
    """All that an op does without an order."""

    def __init__(self, errors: list[SynchronizationError]) -> None:
        self.errors = errors

    def __str__(self) -> str:
        return f"detected {len(self.errors)} errors"


@dataclass
class TensorInfo:
    """What was done to a tensor's memory: all reads since the last write, and that write."""

    allocation_stack_trace: traceback.StackSummary | None
    reads: list[Access] = field(default_factory=list)
    write: Access | None = None


class _TensorsAccessed:
    """The memory that is known, by address."""

    def __init__(self) -> None:
        self.accesses: dict[DataPtr, TensorInfo] = {}

    def ensure_tensor_exists(self, data_ptr: DataPtr) -> TensorInfo:
        """What is known of memory, whose allocation may not have been seen."""
        found = self.accesses.get(data_ptr)
        if found is None:
            logger.info(
                "Found tensor with pointer: %s, but no matching tensor allocation in the trace. Backfilling "
                f"the trace now. {_LATE}",
                data_ptr,
            )
            found = self.accesses[data_ptr] = TensorInfo(None)
        return found

    def ensure_tensor_does_not_exist(self, data_ptr: DataPtr) -> None:
        """Forget memory that comes anew."""
        if self.accesses.pop(data_ptr, None) is not None:
            logger.info(
                "Found duplicate tensor allocation in the trace for tensor with pointer: %s. Assuming the "
                f"trace for tensor deallocation wasn't caught and backfilling it now. {_LATE}",
                data_ptr,
            )

    def create_tensor(self, data_ptr: DataPtr, stack_trace: traceback.StackSummary | None) -> None:
        """Memory that nobody has used."""
        self.accesses[data_ptr] = TensorInfo(stack_trace)

    def delete_tensor(self, data_ptr: DataPtr) -> None:
        """Memory that is gone."""
        del self.accesses[data_ptr]

    def conflicts(self, mine: Access, data_ptr: DataPtr) -> list[Access]:
        """What must come before a use of memory; from now on it is among what is known."""
        known = self.ensure_tensor_exists(data_ptr)
        before = [known.write] if known.write is not None else []
        if mine.type is AccessType.READ:
            known.reads.append(mine)
            return before
        before = known.reads or before
        known.reads, known.write = [], mine
        return before


class StreamSynchronizations:
    """How far each stream knows the others to be: the number of the last op that is done before its next."""

    def __init__(self) -> None:
        self.current_sync_states: dict[StreamId, dict[StreamId, SeqNum]] = {}
        self.recorded_sync_states: dict[EventId, dict[StreamId, SeqNum]] = {}
        self.host_sync_state: dict[StreamId, SeqNum] = {}
        self.create_stream(0)

    def _of_stream(self, stream: StreamId) -> dict[StreamId, SeqNum]:
        if stream not in self.current_sync_states:
            logger.info(
                "Found Stream with id: %s, but no matching stream creation in the trace. Backfilling the "
                f"trace now. {_LATE}",
                stream,
            )
            self.create_stream(stream)
        return self.current_sync_states[stream]

    def _of_event(self, event: EventId) -> dict[StreamId, SeqNum]:
        if event not in self.recorded_sync_states:
            logger.info(
                "Found Event with id: %s, but no matching event creation in the trace. Backfilling the trace "
                f"now. {_LATE}",
                event,
            )
            self.recorded_sync_states[event] = {}
        return self.recorded_sync_states[event]

    def create_stream(self, stream: StreamId) -> None:
        """A stream begins after what the host has waited for."""
        if stream in self.current_sync_states:
            logger.info(
                "Found duplicate Stream creation in the trace for Stream with id: %s. PyTorch Streams are "
                "only created once, so this trace entry is ignored.",
                stream,
            )
            return
        self.host_sync_state[stream] = 0
        self.current_sync_states[stream] = self.host_sync_state.copy()

    def create_event(self, event: EventId) -> None:
        """An event, which marks nothing."""
        if event in self.recorded_sync_states:
            logger.info(
                "Found duplicate event creation in the trace for event with id: %s. Assuming the trace for "
                f"event deletion wasn't caught and backfilling it now. {_LATE}",
                event,
            )
        self.recorded_sync_states[event] = {}

    def delete_event(self, event: EventId) -> None:
        """An event that is gone."""
        self._of_event(event)
        del self.recorded_sync_states[event]

    def update_seq_num(self, stream: StreamId, seq_num: SeqNum) -> None:
        """A stream has this op now."""
        self._of_stream(stream)[stream] = seq_num

    def record_state(self, event: EventId, stream: StreamId) -> None:
        """An event marks how far a stream is."""
        self._of_event(event)
        self.recorded_sync_states[event] = self._of_stream(stream).copy()

    def stream_wait_for_event(self, stream: StreamId, event: EventId) -> None:
        """A stream goes on behind what an event marks."""
        _advance(self._of_stream(stream), self._of_event(event))

    def all_streams_wait_for_event(self, event: EventId) -> None:
        """The host has waited for what an event marks."""
        reached = self._of_event(event)
        for state in (*self.current_sync_states.values(), self.host_sync_state):
            _advance(state, reached)

    def all_streams_wait_for_stream(self, stream: StreamId) -> None:
        """The host has waited for a stream."""
        reached = self._of_stream(stream).copy()
        for state in (*self.current_sync_states.values(), self.host_sync_state):
            _advance(state, reached)

    def sync_all_streams(self) -> None:
        """The host has waited for all streams."""
        for stream, state in self.current_sync_states.items():
            self.host_sync_state[stream] = state[stream]
        for state in self.current_sync_states.values():
            _advance(state, self.host_sync_state)

    def is_ordered_after(self, current_stream: StreamId, seq_num: SeqNum, other_stream: StreamId) -> bool:
        """Whether a stream's next op comes after another stream's op of this number."""
        self._of_stream(other_stream)
        return seq_num <= self._of_stream(current_stream).get(other_stream, -1)


def _advance(state: dict[StreamId, SeqNum], other: Mapping[StreamId, SeqNum]) -> None:
    for stream, number in other.items():
        state[stream] = max(state.get(stream, -1), number)


class EventHandler:
    """What is found out from all that happens."""

    def __init__(self) -> None:
        self.tensors_accessed, self.syncs = _TensorsAccessed(), StreamSynchronizations()
        self.seq_num: SeqNum = 0

    def _handle_kernel_launch(
        self,
        stream: StreamId,
        read_only: Collection[DataPtr],
        read_write: Collection[DataPtr],
        outputs: Collection[DataPtr],
        operator: Any,
        tensor_aliases: Mapping[DataPtr, list[str]],
    ) -> list[SynchronizationError]:
        self.seq_num += 1
        self.syncs.update_seq_num(stream, self.seq_num)
        found: list[SynchronizationError] = []
        lines = traceback.extract_stack()
        for kind, places in ((AccessType.READ, read_only), (AccessType.WRITE, read_write)):
            for place in places:
                names, out = tensor_aliases[place], place in outputs
                mine = Access(kind, self.seq_num, stream, operator, names, out, lines)
                known = self.tensors_accessed.ensure_tensor_exists(place)
                found += [
                    UnsynchronizedAccessError(place, known.allocation_stack_trace, mine, other)
                    for other in self.tensors_accessed.conflicts(mine, place)
                    if not self.syncs.is_ordered_after(stream, other.seq_num, other.stream)
                ]
        return found

    def _handle_event_creation(self, event: EventId) -> None:
        self.syncs.create_event(event)

    def _handle_event_deletion(self, event: EventId) -> None:
        self.syncs.delete_event(event)

    def _handle_event_record(self, event: EventId, stream: StreamId) -> None:
        self.syncs.record_state(event, stream)

    def _handle_event_wait(self, event: EventId, stream: StreamId) -> None:
        self.syncs.stream_wait_for_event(stream, event)

    def _handle_memory_allocation(self, data_ptr: DataPtr) -> None:
        self.tensors_accessed.ensure_tensor_does_not_exist(data_ptr)
        self.tensors_accessed.create_tensor(data_ptr, traceback.extract_stack())

    def _handle_memory_deallocation(self, data_ptr: DataPtr) -> None:
        self.tensors_accessed.ensure_tensor_exists(data_ptr)
        self.tensors_accessed.delete_tensor(data_ptr)

    def _handle_stream_creation(self, stream: StreamId) -> None:
        self.syncs.create_stream(stream)

    def _handle_device_synchronization(self) -> None:
        self.syncs.sync_all_streams()

    def _handle_stream_synchronization(self, stream: StreamId) -> None:
        self.syncs.all_streams_wait_for_stream(stream)

    def _handle_event_synchronization(self, event: EventId) -> None:
        self.syncs.all_streams_wait_for_event(event)

    def listen(self) -> None:
        """Hear of all that happens on devices from now on."""
        for kind, handle in (
            (tracing.EVENT_CREATION, self._handle_event_creation),
            (tracing.EVENT_DELETION, self._handle_event_deletion),
            (tracing.EVENT_RECORD, self._handle_event_record),
            (tracing.EVENT_WAIT, self._handle_event_wait),
            (tracing.MEMORY_ALLOCATION, self._handle_memory_allocation),
            (tracing.MEMORY_DEALLOCATION, self._handle_memory_deallocation),
            (tracing.STREAM_CREATION, self._handle_stream_creation),
            (tracing.DEVICE_SYNCHRONIZATION, self._handle_device_synchronization),
            (tracing.STREAM_SYNCHRONIZATION, self._handle_stream_synchronization),
            (tracing.EVENT_SYNCHRONIZATION, self._handle_event_synchronization),
        ):
            kind.add_callback(handle)


def zip_arguments(schema: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """(argument of the schema, what is given for it) of a call."""
    yield from zip(schema.arguments, args, strict=False)
    for argument in schema.arguments:
        if argument.name in kwargs:
            yield argument, kwargs[argument.name]


class ArgumentHandler:
    """Which memory an op reads and writes, by addresses."""

    def __init__(self) -> None:
        self.dataptrs_read: set[DataPtr] = set()
        self.dataptrs_written: set[DataPtr] = set()
        self.tensor_aliases: dict[DataPtr, list[str]] = {}
        self.outputs: set[DataPtr] = set()

    def _handle(self, value: Any, writes: bool, looks: bool, name: str = "") -> None:
        """A tensor, or a structure of some; looks: whether the op looks at nothing but its sizes."""
        for leaf in tree_leaves(value):
            if not (isinstance(leaf, Tensor) and leaf.is_cuda):
                continue
            place = leaf.data_ptr()
            if writes:
                self.dataptrs_written.add(place)
            elif not looks:
                self.dataptrs_read.add(place)
            names = self.tensor_aliases.setdefault(place, [])
            if name:
                names.append(name)
            else:
                self.outputs.add(place)

    def parse_inputs(
        self, schema: Any, args: Sequence[Any], kwargs: Mapping[str, Any], *, is_factory: bool
    ) -> None:
        """The arguments; is_factory: whether the op looks at their sizes alone."""
        for argument, value in zip_arguments(schema, args, kwargs):
            alias = argument.alias_info
            looks = is_factory or (alias is not None and not alias.is_write)
            self._handle(value, alias is not None and alias.is_write, looks, argument.name)

    def parse_outputs(self, schema: Any, outputs: Any, *, is_factory: bool) -> None:
        """The results: written, unless they are views."""
        for result, value in zip(schema.returns, (outputs,), strict=False):
            alias = result.alias_info
            looks = is_factory or (alias is not None and not alias.is_write)
            self._handle(value, not looks, looks)


class CUDASanitizerDispatchMode(TorchDispatchMode):
    """Looks at every op while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.event_handler = EventHandler()
        tracing._activate_gpu_trace()
        self.event_handler.listen()

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        schema = func._schema
        if schema.name == "aten::record_stream":
            return func(*args, **kwargs)
        factory = bool(FACTORY_FUNCTION_REGEX.match(schema.name.partition("::")[2]))
        seen = ArgumentHandler()
        seen.parse_inputs(schema, args, kwargs, is_factory=factory)
        results = func(*args, **kwargs)
        seen.parse_outputs(schema, results, is_factory=factory)
        errors = self.event_handler._handle_kernel_launch(
            cuda.current_stream().cuda_stream,
            seen.dataptrs_read - seen.dataptrs_written,
            seen.dataptrs_written,
            seen.outputs,
            schema,
            seen.tensor_aliases,
        )
        if errors:
            for error in errors:
                print(error, file=sys.stderr)
            raise CUDASanitizerErrors(errors)
        return results


class CUDASanitizer:
    """The mode of a whole program."""

    def __init__(self) -> None:
        self.enabled = False

    @cached_property
    def dispatch(self) -> CUDASanitizerDispatchMode:
        """The mode, which listens from its first mention on: who imports this file hears of nothing."""
        return CUDASanitizerDispatchMode()

    def enable(self) -> None:
        """Look at every op from now on."""
        self.dispatch.__enter__()
        self.enabled = True

    def disable(self) -> None:
        """Look no more."""
        self.dispatch.__exit__(None, None, None)
        self.enabled = False


def enable_cuda_sanitizer() -> None:
    """Look at every op from now on, and raise where streams are not ordered."""
    cuda_sanitizer.enable()


cuda_sanitizer = CUDASanitizer()
