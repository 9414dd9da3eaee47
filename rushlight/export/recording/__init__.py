"""What `tracing.py` asks for while it records a program: its inputs by name (`inputs.py`), where it is
(`places.py`) and what modules are called with (`module_calls.py`), tensors that stand in for fake ones
(`stand_ins.py`), and the fake tensors that nodes hold (`fakes.py`).
"""
