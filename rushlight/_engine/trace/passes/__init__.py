"""The passes over a recorded graph, each a rewriting that keeps its meaning.

Begin with lowering.py and fusion.py. In their order: simplify, lowering, recompute, fusion, memory; verify.py
checks the graph after each. kernel_nodes.py says what a node whose meaning is known is. Nothing here knows
how a graph came about.
"""
