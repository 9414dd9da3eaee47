"""What machine code and its callers agree on: where things lie in memory, in bytes or slots of eight."""

from __future__ import annotations

SLOT = 8
# Where NumPy's array object has its data, number of axes, extents, dtype and flags, after the head
# that every Python object has: part of NumPy's ABI.
ARRAY_FIELDS = tuple(object.__basicsize__ + k for k in (0, 8, 16, 40, 48))
# ... and its strides, and the object that has its memory.
ARRAY_STRIDES, ARRAY_BASE = object.__basicsize__ + 24, object.__basicsize__ + 32
# A team's memory (team_code.py): where members are, slots of one, its semaphore, slots of a queue.
MEMBERS, MEMBER, SEMAPHORE, QUEUE = 32, 16, 8, 8
# A table of team.Call: how many words, how many stages, whether other threads may run meanwhile (CALL_HEAD
# slots); then what each word is relative to; then the words. A word is a number (NUMBER), an offset from the
# words (OF_WORDS), or from the memory of the operand k (of_operand(k)).
CALL_HEAD = 3
NUMBER, OF_WORDS = 0, SLOT


def of_operand(k: int) -> int:
    """What says that a word is relative to the operand k."""
    return OF_WORDS + SLOT * (k + 1)


# A stage, as native code reads it: loop, its jobs, how many, bytes of a job, bytes of its pointers, steps,
# most further threads, and one that is free.
STAGE_FIELDS = 8
# Functions of stages.
STAGES = (
    "rl_program_run",
    "rl_call",
    "rl_stages",
    "rl_numpy",
    "rl_update",
    "rl_words",
    "rl_refuse",
    "rl_inside",
    "rl_blocks",
)
# A loop of the team: NumPy's inner loop, whose number says that it refused.
HEADER = "define i32 @{}(ptr %x, ptr %args, ptr %dims, ptr %steps, ptr %d)"
# What BLAS calls dtypes.
BLAS = {"float32": "s", "float64": "d"}
