"""Programs at sizes that were not recorded, from programs of the same calls at some that were.

Begin with `families.py` (programs that differ in sizes alone, and how one more is made of them), then
`descriptions.py` (what a program does apart from its numbers), `formulas.py` (how numbers follow from
sizes) and `trials.py` (whether a program leaves what a call leaves).
"""
