"""torch.jit.freeze: a module's attributes become constants of its program, which is then simplified.

attributes.py follows which attributes a program reads and writes; module.py makes the frozen module of what
is left; optimizations.py merges layers whose weights are constants.
"""
