"""Rushlight beside PyTorch, measured in one run: python -m benchmarks --help"""
