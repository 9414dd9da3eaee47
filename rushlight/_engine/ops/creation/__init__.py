"""Rows that make tensors: filled, copied, counted, drawn at random.

Begin with filled.py, then copying.py (conversions between dtypes, which all other rows use). The numbers of
random.py come from numerics/. Arguments such as dtype and device are bound by dispatch/factories.py.
"""
