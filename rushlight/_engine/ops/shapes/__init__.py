"""Rows that give the same elements another shape or order: views, joins, splits, moves."""
