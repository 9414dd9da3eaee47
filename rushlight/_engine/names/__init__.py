"""How PyTorch's names are found: those of another module, those there only to be imported, and completion.

Begin with alternatives.py, where the look-up of a name that a module has not itself ends. Nothing here knows
what the names mean.
"""
