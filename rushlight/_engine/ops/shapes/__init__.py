"""Rows that give the same elements another shape or order: views, joins, splits, moves.

Begin with views.py: a row answers a Layout, from which the view and its gradient follow. joining.py and
padding.py copy. Nothing here knows storages or versions: the runner of views does
(dispatch/runners/views.py).
"""
