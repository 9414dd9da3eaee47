"""Options that the environment may set (torch.distributed.argparse_util): --foo by PET_FOO."""

from __future__ import annotations

import os
from argparse import Action, ArgumentParser, Namespace
from typing import Any

__all__ = ["check_env", "env"]


class env(Action):
    """An option's value from PET_{dest} where the command line has none: `add_argument("--foo", action=env)`.

    dest is the longest of several option strings. A default, from the environment or the program, makes a
    required option optional.
    """

    def __init__(self, dest: str, default: Any = None, required: bool = False, **kwargs: Any) -> None:
        found = os.environ.get(f"PET_{dest.upper()}", default)
        super().__init__(dest=dest, default=found, required=required and not found, **kwargs)

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Keep what the command line gives."""
        setattr(namespace, self.dest, values)


class check_env(Action):
    """A flag that PET_{dest} sets, too: a number there, of which 0 is off."""

    def __init__(self, dest: str, default: bool = False, **kwargs: Any) -> None:
        told = os.environ.get(f"PET_{dest.upper()}")
        found = bool(default) if told is None else bool(int(told))
        super().__init__(dest=dest, const=True, default=found, nargs=0, **kwargs)

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Switch the flag on."""
        setattr(namespace, self.dest, self.const)
