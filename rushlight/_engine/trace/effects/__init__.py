"""What Python does while a call is recorded, beside calling ops: whether a replay would leave something out.

Begin with purity.py, which looks at a call; following.py tells it of instructions, instructions.py says what
these store, contents.py what lies in the objects that they read; as_written.py how the text writes an op.
This folder knows no program and no kernel.
"""
