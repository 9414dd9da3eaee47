"""What Module is made of: its tables, the tree of its children, its state, its hooks, conversions of it.

Begin with tables.py; ../module.py puts the parts together and adds the call. No part knows a layer.
"""
