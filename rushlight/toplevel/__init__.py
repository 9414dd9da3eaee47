"""Functions of torch itself that are no ops: torch.cond, torch.norm_except_dim, torch._check and their like.

homes.tsv says which names are here. Begin with functions.py; checks.py has the checks that programs
state, removed.py what PyTorch has taken away and says so. Each file is loaded when a name of it is first
asked for, and knows nothing of the others.
"""
