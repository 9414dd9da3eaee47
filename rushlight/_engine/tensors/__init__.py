"""What a tensor is: its parts, by what they answer.

Begin with tensor.py (the class and its five slots) and kind.py (dtype and device, interned). Ops are not
defined here: a method that is an op is looked up in the table when it is first asked for.
"""
