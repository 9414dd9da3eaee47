"""Devices beside the CPU. Nothing in here is loaded before a program asks for one (base/accelerator.py)."""
