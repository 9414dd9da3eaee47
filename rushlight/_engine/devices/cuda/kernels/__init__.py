"""Kernels of a CUDA device: written once from what they mean, for NVIDIA's machines and for the simulator.

Begin with sources.py (a kernel's text, made once), launches.py (pointwise kernels) and writing.py (how a body
is written); targets.py has what differs between NVIDIA's machines and the simulator. Nothing here knows rows:
served/ does.
"""
