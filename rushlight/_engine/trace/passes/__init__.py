"""The passes over a recorded graph, each a rewriting that keeps its meaning."""
