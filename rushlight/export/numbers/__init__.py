"""Numbers that an exported program does not know yet: what they are (symbolic.py), how they are computed from
others (expressions.py), and the nodes of a graph that compute and check them (nodes.py).
"""
