"""Endpoints and options as text, whether a host is this one, and a timer."""

from __future__ import annotations

import ipaddress
import random
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable
from datetime import timedelta
from typing import Any

__all__ = ["parse_rendezvous_endpoint"]


def _parse_rendezvous_config(config_str: str) -> dict[str, str]:
    """The options of "a=1,b=2"."""
    config: dict[str, str] = {}
    for pair in config_str.split(",") if config_str.strip() else ():
        key, _, value = map(str.strip, pair.partition("="))
        if not key:
            raise ValueError(
                "The rendezvous configuration string must be in format <key1>=<value1>,...,<keyN>=<valueN>."
            )
        if not value:
            raise ValueError(f"The rendezvous configuration option '{key}' must have a value specified.")
        config[key] = value
    return config


def _try_parse_port(port_str: str) -> int | None:
    """The number of a port; None where the text is none."""
    return int(port_str) if re.fullmatch(r"[0-9]{1,5}", port_str or "") else None


def parse_rendezvous_endpoint(endpoint: str | None, default_port: int) -> tuple[str, int]:
    """Host and port of "host", "host:port", "[v6 address]" or "[v6 address]:port"."""
    endpoint = (endpoint or "").strip()
    if not endpoint:
        return "localhost", default_port
    host, colon, said = endpoint.rpartition(":")
    if not colon or endpoint[0] + endpoint[-1] == "[]":
        host, colon, said = endpoint, "", ""
    if len(host) > 1 and host[0] + host[-1] == "[]":
        host = host[1:-1]
    port = _try_parse_port(said) if colon else default_port
    if port is None or port >= 1 << 16:
        raise ValueError(
            f"The port number of the rendezvous endpoint '{endpoint}' must be an integer between 0 and 65536."
        )
    if not re.fullmatch(r"[\w.:-]+", host):
        raise ValueError(
            f"The hostname of the rendezvous endpoint '{endpoint}' must be a dot-separated list of labels, "
            "an IPv4 address, or an IPv6 address."
        )
    return host, port


def _address(host: str) -> Any:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _matches_machine_hostname(host: str) -> bool:
    """Whether a name or address is this machine's, as far as its names are known here."""
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    this = socket.gethostname()
    if host == this:
        return True
    flags: Any = {"proto": socket.IPPROTO_TCP, "flags": socket.AI_CANONNAME}
    try:
        found = {place[0] for *_, place in socket.getaddrinfo(host, None, **flags)}
    except (ValueError, socket.gaierror):
        found = set()
    if address is not None:
        found.add(str(address))
    own = socket.getaddrinfo(this, None, **flags)
    return any((name and name == host) or place[0] in found for *_, name, place in own)


def _delay(seconds: float | tuple[float, float]) -> None:
    """Sleep, for a time between two where there are two; not at all for less than 10 ms."""
    wanted = random.uniform(*seconds) if isinstance(seconds, tuple) else seconds
    if wanted >= 0.01:
        time.sleep(wanted)


def _repeat(
    stop: threading.Event, seconds: float, function: Callable[..., Any], args: Any, kwargs: Any
) -> None:
    while not stop.wait(seconds):
        function(*args, **kwargs)


def _end(thread: threading.Thread, stop: threading.Event) -> None:
    stop.set()
    thread.join()


class _PeriodicTimer:
    """Calls a function again and again in a thread, until it is cancelled or forgotten."""

    def __init__(self, interval: timedelta, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self._name: str | None = None
        self._stop = threading.Event()
        self._call = (self._stop, interval.total_seconds(), function, args, kwargs)
        self._thread: threading.Thread | None = None
        self._finalizer: Any = None

    @property
    def name(self) -> str | None:
        """What its thread is called."""
        return self._name

    def set_name(self, name: str) -> None:
        """Say what its thread is called."""
        self._check_idle()
        self._name = name

    def _check_idle(self) -> None:
        if self._thread is not None:
            raise RuntimeError("The timer has already started.")

    def start(self) -> None:
        """Begin."""
        self._check_idle()
        self._thread = threading.Thread(
            target=_repeat, name=self._name or "PeriodicTimer", args=self._call, daemon=True
        )
        self._finalizer = weakref.finalize(self, _end, self._thread, self._stop)
        self._finalizer.atexit = False  # a daemon's thread may be gone then
        self._thread.start()

    def cancel(self) -> None:
        """Stop, when the function that runs has ended."""
        if self._finalizer is not None:
            self._finalizer()
