"""What an allocator's books say, and how they are written anew where a signal has left them half written.

Begin with figures.py; mending.py knows how blocks lie in segments, which the allocator decides.
"""
