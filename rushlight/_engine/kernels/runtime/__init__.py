"""Where kernels run: threads, tiers, the cache on disk, native calls, stages of programs.

Begin with tiers.py (who computes), native.py and cache.py (where machine code comes from), team.py (threads).
stages.py is a program's list of native work.
"""
