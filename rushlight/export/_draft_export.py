"""torch.export.draft_export: a program even where the recording cannot be trusted, and what to mend.

It is recorded as export() records it. Where export() would stop, the sample inputs' own answer is taken, and
the place is written into the report.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

log = logging.getLogger("torch.export")


class FailureType(IntEnum):
    """What cannot be trusted."""

    MISSING_FAKE_KERNEL, DATA_DEPENDENT_ERROR, GUARD_ADDED, MISMATCHED_FAKE_KERNEL = range(1, 5)

    def __str__(self) -> str:
        return self.name


@dataclass
class FailureReport:
    """One such place: what was asked (`expr`), what it was taken to be, and the lines of the program."""

    failure_type: FailureType
    data: dict[str, Any]
    xfail: bool = False

    def print(self, str_to_filename: dict[int, str] | None = None) -> str:
        """The report as text."""
        if self.failure_type is FailureType.DATA_DEPENDENT_ERROR:
            return (
                f"Data dependent error.\n    When exporting, we were unable to evaluate: "
                f"{self.data['expr']}.\n"
                f"    This occurred at:\n{self.data['user_stack']}\n"
                "    As a result, what the sample inputs gave is a constant of the program. Use torch.where, "
                "torch.clamp or another op of tensors instead."
            )
        if self.failure_type is FailureType.MISSING_FAKE_KERNEL:
            return (
                f"Missing fake kernel.\n    torch.ops.{self.data['op']} is missing a fake kernel "
                "implementation.\n    Please register one with torch.library.register_fake."
            )
        if self.failure_type is FailureType.MISMATCHED_FAKE_KERNEL:
            return (
                f"Mismatched fake kernel.\n    torch.ops.{self.data['op']} has a fake kernel implementation, "
                "but it has incorrect behavior, based on the real kernel.\n    The reason for the mismatch "
                f"is: {self.data['reason']}."
            )
        return (
            f"Guard Added.\n    The program does something else at other sizes: {self.data['expr']}.\n"
            f"    As a result, these dimensions are static: {self.data['dims']}. Give a range in which it "
            "does not, or write the program so that it does the same at all sizes."
        )


@dataclass
class DraftExportReport:
    """What draft_export found, as `exported._report`."""

    failures: list[FailureReport]
    str_to_filename: dict[int, str] = field(default_factory=dict)
    expressions_created: dict[int, dict[str, Any]] = field(default_factory=dict)
    op_profiles: dict[str, Any] = field(default_factory=dict)

    def successful(self) -> bool:
        """Whether export() would have given the same."""
        return not any(not failure.xfail for failure in self.failures)

    def __repr__(self) -> str:
        return f"DraftExportReport({self.failures})"

    def __str__(self) -> str:
        if self.successful():
            return (
                "##############################################################\n"
                "Congratulations: No issues are found during export, and it was able to soundly produce a "
                "graph.\n"
                "You can now change back to torch.export.export()\n"
                "##############################################################\n"
            )
        told = "\n".join(f"{i}. {failure.print()}\n" for i, failure in enumerate(self.failures, 1))
        return (
            f"WARNING: {len(self.failures)} issue(s) found during export, and it was not able to soundly "
            f"produce a graph.\nPlease follow the instructions to fix the errors.\n\n{told}"
        )
