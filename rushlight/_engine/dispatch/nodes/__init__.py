"""What rows leave in the graph: the nodes of each kind, and what they keep.

Begin with declared.py (rows with a gradient of their own) and formula_nodes.py (derived ones); transposed.py
has the gradients of views, index rows and contractions. Who runs the nodes is autograd/engine.py.
"""
