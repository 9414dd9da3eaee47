"""The graph of an eager computation, and the engine that runs it backwards."""
