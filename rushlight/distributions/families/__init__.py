"""Distributions by family: those that share a formula share a file, of which PyTorch's modules are names.

Begin with real_line.py (Normal, Uniform, ...). homes.tsv says which file declares which class, and which
of PyTorch's modules (torch.distributions.normal) it stands for. implicit.py has the gradients of gamma
and Dirichlet samples. A family knows the families that it is made of, and nothing of divergences between
them (../kl.py).
"""
