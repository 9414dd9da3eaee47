"""What rows leave in the graph: the nodes of each kind, and what they keep."""
