"""The hub's store: a HashStore that callers ask by message, and callers that wait for keys."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from rushlight.distributed.stores import ASKED, HashStore

if TYPE_CHECKING:  # a circle: server.py imports its services
    from rushlight.distributed.hub.server import Caller, Command, Hub


class Values:
    """The service behind TCPStore. Answers are ["ok", ...], ["timeout"] or ["error", what]."""

    def __init__(self, hub: Hub) -> None:
        self._hub, self._store = hub, HashStore()
        self._waiting: list[tuple[Caller, list[str], bool]] = []
        self.commands: dict[str, Command] = {name: partial(self._ask, name) for name in ASKED}
        self.commands |= {"get": partial(self._wait, True), "wait": partial(self._wait, False)}

    def gone(self, caller: Caller) -> None:
        """Forget what the caller was waiting for."""
        self._waiting = [entry for entry in self._waiting if entry[0] is not caller]

    def _ask(self, name: str, caller: Caller, fields: list[bytes]) -> None:
        arguments: list[Any] = [field.decode() for field in fields[:1]] + fields[1:]
        if name == "check":
            arguments = [[field.decode() for field in fields]]
        elif name == "add":
            arguments[1] = int(arguments[1])
        try:
            found = getattr(self._store, name)(*arguments)
        except ValueError:
            caller.reply("error", f"the value of {arguments[0]!r} is no number")
            return
        values = found if isinstance(found, list) else [] if found is None else [found]
        caller.reply("ok", *(int(value) if isinstance(value, bool) else value for value in values))
        for entry in [entry for entry in self._waiting if self._store.check(entry[1])]:
            self._waiting.remove(entry)
            self._answer(entry)

    def _answer(self, entry: tuple[Caller, list[str], bool]) -> None:
        caller, keys, wants_value = entry
        caller.reply("ok", *([self._store.get(keys[0])] if wants_value else []))

    def _wait(self, wants_value: bool, caller: Caller, fields: list[bytes]) -> None:
        entry = (caller, [field.decode() for field in fields[1:]], wants_value)
        if self._store.check(entry[1]):
            self._answer(entry)
            return
        self._waiting.append(entry)
        self._hub.later(float(fields[0]), lambda: self._give_up(entry))

    def _give_up(self, entry: tuple[Caller, list[str], bool]) -> None:
        if any(waiting is entry for waiting in self._waiting):
            self._waiting = [waiting for waiting in self._waiting if waiting is not entry]
            entry[0].reply("timeout")
