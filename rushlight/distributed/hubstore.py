"""The hub's store: keys and values, and callers that wait for keys."""
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rushlight.distributed.hub import Caller, Command, Hub


class Values:
    """The service behind TCPStore. Each command is answered once: ["ok", ...], or ["timeout"]."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._values: dict[bytes, bytes] = {}
        self._waiting: list[tuple[Caller, list[bytes], bool]] = []
        self.commands: dict[str, Command] = {
            "set": self._set, "get": self._get, "wait": self._wait, "check": self._check, "add": self._add,
            "swap": self._swap, "delete": self._delete, "count": self._count, "append": self._append,
            "keys": self._keys}

    def gone(self, caller: Caller) -> None:
        """Forget what the caller was waiting for."""
        self._waiting = [entry for entry in self._waiting if entry[0] is not caller]

    def put(self, key: bytes, value: bytes) -> None:
        """Set a value, and answer who waited for it."""
        self._values[key] = value
        still = []
        for entry in self._waiting:
            if key in entry[1] and all(k in self._values for k in entry[1]):
                self._answer(entry)
            else:
                still.append(entry)
        self._waiting = still

    def _answer(self, entry: tuple[Caller, list[bytes], bool]) -> None:
        caller, keys, wants_value = entry
        caller.reply("ok", *([self._values[keys[0]]] if wants_value else []))

    def _set(self, caller: Caller, fields: list[bytes]) -> None:
        self.put(fields[0], fields[1])
        caller.reply("ok")

    def _append(self, caller: Caller, fields: list[bytes]) -> None:
        self.put(fields[0], self._values.get(fields[0], b"") + fields[1])
        caller.reply("ok")

    def _get(self, caller: Caller, fields: list[bytes]) -> None:
        self._enter(caller, fields[1:], True, float(fields[0]))

    def _wait(self, caller: Caller, fields: list[bytes]) -> None:
        self._enter(caller, fields[1:], False, float(fields[0]))

    def _enter(self, caller: Caller, keys: list[bytes], wants_value: bool, seconds: float) -> None:
        entry = (caller, keys, wants_value)
        if all(key in self._values for key in keys):
            self._answer(entry)
            return
        self._waiting.append(entry)

        def give_up() -> None:
            for at, waiting in enumerate(self._waiting):
                if waiting is entry:
                    del self._waiting[at]
                    caller.reply("timeout")
                    return

        self._hub.later(seconds, give_up)

    def _check(self, caller: Caller, fields: list[bytes]) -> None:
        caller.reply("ok", int(all(key in self._values for key in fields)))

    def _add(self, caller: Caller, fields: list[bytes]) -> None:
        try:
            total = int(self._values.get(fields[0], b"0")) + int(fields[1])
        except ValueError:
            caller.reply("error", f"the value of {fields[0].decode(errors='replace')!r} is no number")
            return
        self.put(fields[0], str(total).encode())
        caller.reply("ok", total)

    def _swap(self, caller: Caller, fields: list[bytes]) -> None:
        key, expected, desired = fields
        held = self._values.get(key)
        if held == expected or (held is None and not expected):
            self.put(key, desired)
            held = desired
        caller.reply("ok", expected if held is None else held)

    def _delete(self, caller: Caller, fields: list[bytes]) -> None:
        caller.reply("ok", int(self._values.pop(fields[0], None) is not None))

    def _count(self, caller: Caller, fields: list[bytes]) -> None:
        caller.reply("ok", len(self._values))

    def _keys(self, caller: Caller, fields: list[bytes]) -> None:
        caller.reply("ok", *self._values)
