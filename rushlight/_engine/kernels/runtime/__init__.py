"""Where kernels run: threads, tiers, the cache on disk, native calls, stages of programs."""
