"""How calls end that do not end well, and what is left of a worker that has shut down."""

import sys
import threading
import time

import torch
import torch.distributed.rpc as rpc


class Unreadable:
    def __reduce__(self):
        return unreadable, ()


def unreadable():
    raise ValueError("cannot be read")


def interrupted():
    raise KeyboardInterrupt


def refused(call, *arguments):
    begun = time.monotonic()
    try:
        call(*arguments)
    except Exception as error:
        assert time.monotonic() - begun < 5
        return f"{type(error).__name__}: {error}"
    raise AssertionError("no error")


def nested(done):
    return rpc.rpc_sync("only", torch.add, (done.wait(), 1))


rpc.init_rpc("only", rank=0, world_size=1)
agent = rpc.api._get_current_rpc_agent()
assert agent._listener.getsockname()[0] == "127.0.0.1"
assert "RuntimeError: SystemExit: 3\n" in refused(rpc.rpc_sync, "only", sys.exit, (3,))
assert "RuntimeError: KeyboardInterrupt: " in refused(rpc.rpc_sync, "only", interrupted)
assert "RuntimeError: SystemExit: 3\n" in refused(rpc.remote("only", sys.exit, (3,)).to_here)
assert "ValueError: cannot be read" in refused(rpc.rpc_sync, "only", Unreadable)
assert "ValueError: cannot be read" in refused(rpc.rpc_sync, "only", str, (Unreadable(),))
many = [rpc.rpc_async("only", torch.add, (torch.ones(1), n)).then(nested) for n in range(100)]
assert [int(one.wait()) for one in many] == list(range(2, 102))

late = rpc.rpc_async("only", time.sleep, (2.0,))
late.then(lambda done: None)
begun = time.monotonic()
rpc.shutdown(timeout=0.5)
assert time.monotonic() - begun < 10
end = time.monotonic() + 10
while any(one.name.startswith("rpc") for one in threading.enumerate()) and time.monotonic() < end:
    time.sleep(0.01)
assert not [one for one in threading.enumerate() if one.name.startswith("rpc")]
print("ended in order", flush=True)
