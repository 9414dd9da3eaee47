"""torch.cuda._gpu_trace: functions that hear of what happens on devices, once
`torch._C._activate_gpu_trace()` was called.

Each is called with numbers: an event, an event and a stream, an address, a stream, or none.
"""

from __future__ import annotations

from rushlight._engine.devices.cuda.accounts import tracing
from rushlight._engine.devices.cuda.accounts.tracing import CallbackRegistry as CallbackRegistry

EventCreationCallbacks = tracing.EVENT_CREATION
EventDeletionCallbacks = tracing.EVENT_DELETION
EventRecordCallbacks = tracing.EVENT_RECORD
EventWaitCallbacks = tracing.EVENT_WAIT
MemoryAllocationCallbacks = tracing.MEMORY_ALLOCATION
MemoryDeallocationCallbacks = tracing.MEMORY_DEALLOCATION
StreamCreationCallbacks = tracing.STREAM_CREATION
DeviceSynchronizationCallbacks = tracing.DEVICE_SYNCHRONIZATION
StreamSynchronizationCallbacks = tracing.STREAM_SYNCHRONIZATION
EventSynchronizationCallbacks = tracing.EVENT_SYNCHRONIZATION

register_callback_for_event_creation = EventCreationCallbacks.add_callback
register_callback_for_event_deletion = EventDeletionCallbacks.add_callback
register_callback_for_event_record = EventRecordCallbacks.add_callback
register_callback_for_event_wait = EventWaitCallbacks.add_callback
register_callback_for_memory_allocation = MemoryAllocationCallbacks.add_callback
register_callback_for_memory_deallocation = MemoryDeallocationCallbacks.add_callback
register_callback_for_stream_creation = StreamCreationCallbacks.add_callback
register_callback_for_device_synchronization = DeviceSynchronizationCallbacks.add_callback
register_callback_for_stream_synchronization = StreamSynchronizationCallbacks.add_callback
register_callback_for_event_synchronization = EventSynchronizationCallbacks.add_callback
