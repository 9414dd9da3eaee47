"""A call to a program: torch.jit.trace.

Begin with trace.py, which records functions and methods of modules. tracer.py is the mode that hears the
ops and finds the program's values for their arguments, traced.py the tensors and sizes that it is handed.
lifting.py makes methods of what submodules did; checking.py records once more and compares.
"""
