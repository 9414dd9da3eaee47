"""How rows of each kind are run.

Begin with pointwise.py (the fast path as text) and formulas.py (its general form), then by_kind.py for all
others; plans.py writes composites down. Gradients are recorded by nodes/.
"""
