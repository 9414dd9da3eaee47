"""NVIDIA's driver and libraries by ctypes: what a real CUDA device is made of.

Begin with library.py (the functions of libcuda), then real.py (a device over them). None of it has run on a
GPU yet: tests run it against an imitation of libcuda that computes kernels by the simulator.
"""
