"""Interpreters that give an op another meaning: vmap and forward-mode derivatives.

Begin with levels.py (what a running transform is), batching.py and tangents.py (its interpreters). The rules
are in batch_rules.py and policies.tsv, pullback.py has reverse mode. Kernels know nothing of levels.
"""
