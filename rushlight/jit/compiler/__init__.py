"""Python source to a program: one class for each part of the language, each built on the one before.

Begin with statements.py, whose Compiler is the last of the chain: expressions, indexing, calls,
conditions, loops, contexts, statements. names.py says what names mean in Python code that is compiled,
values.py what they stand for until they are values of the program; exits.py turns break, continue and
early return into ifs. What is made is a graph of ../program/; nothing here knows how it runs, or how
archives are written.
"""
