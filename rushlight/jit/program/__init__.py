"""Programs: the graph that script, trace and load all make, and the forms it is written in.

Begin with ir.py (values, nodes, blocks) and types.py. writing.py is what code has in common, codetext.py
TorchScript's own, execute.py the Python function that runs, graphtext.py and graphs.py PyTorch's printed
and inspected graphs. Nothing here knows of Python source or of archives.
"""
