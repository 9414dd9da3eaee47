"""compile(): calls recorded, and replayed as programs.

Begin with compiled.py (a compiled callable from its first call to its replays), recorder.py (what is
recorded) and program.py (what is replayed). guards.py says when a call is recorded again. Nothing below knows
that it is recorded.
"""
