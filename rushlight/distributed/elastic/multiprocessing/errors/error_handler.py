"""What is written of an exception, and where: the file that TORCHELASTIC_ERROR_FILE names."""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import time
import traceback
from typing import Any

from rushlight._engine.core.callers import warn

__all__ = ["ErrorHandler"]
logger = logging.getLogger(__name__)


class ErrorHandler:
    """Writes exceptions as JSON; a program may derive from it.

    {"message": {"message": "ValueError: ...", "extraInfo": {"py_callstack": ..., "timestamp": ...}}}
    """

    def _get_error_file_path(self) -> str | None:
        """The file; None: nothing is written."""
        return os.environ.get("TORCHELASTIC_ERROR_FILE")

    def initialize(self) -> None:
        """Called before the program's function."""
        try:
            faulthandler.enable(all_threads=True)
        except Exception as error:  # no stderr to write to
            warn(f"Unable to enable fault handler. {type(error).__name__}: {error}")

    def record_exception(self, e: BaseException) -> None:
        """Write an exception, with the traceback of the one that is handled now."""
        file = self._get_error_file_path()
        if not file:
            return
        extra = {"py_callstack": traceback.format_exc(), "timestamp": str(int(time.time()))}
        told = {"message": {"message": f"{type(e).__name__}: {e}", "extraInfo": extra}}
        with open(file, "w", encoding="utf-8") as stream:
            json.dump(told, stream)

    def override_error_code_in_rootcause_data(
        self, rootcause_error_file: str, rootcause_error: dict[str, Any], error_code: int = 0
    ) -> None:
        """Add the exit code to what was read of a file; a text instead of a dict stays."""
        message = rootcause_error.get("message")
        if isinstance(message, dict):
            message["errorCode"] = error_code
        else:
            what = "does not have field `message`" if message is None else "has a new message format"
            logger.warning("child error file (%s) %s: no error code is set", rootcause_error_file, what)

    def dump_error_file(self, rootcause_error_file: str, error_code: int = 0) -> None:
        """Write a child's file anew as this process's own, with its exit code."""
        with open(rootcause_error_file, encoding="utf-8") as stream:
            told = json.load(stream)
        if error_code:
            self.override_error_code_in_rootcause_data(rootcause_error_file, told, error_code)
        file = self._get_error_file_path()
        if not file:
            logger.error(
                "no error file defined for parent, to copy child error file (%s)", rootcause_error_file
            )
            return
        if os.path.isfile(file):  # the child may have had the same one
            with open(file, encoding="utf-8") as stream:
                logger.warning("%s already exists and will be overwritten:\n%s", file, stream.read())
        with open(file, "w", encoding="utf-8") as stream:
            json.dump(told, stream)
