"""Segments of matched calls as fx graphs, which backends are given.

Begin with writing.py, which writes a segment's ops as the program has them; branches.py hears the functions
of branches and loops, which are graphs of their own; report.py says in words what compile() made.
"""
