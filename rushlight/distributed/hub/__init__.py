"""The hub of a job: one process, or thread, that keeps the store, starts MPI and tells who has failed.

Begin with server.py; jobs.py, nodes.py and store.py are what it serves, messages.py how callers talk to
it, watch.py a rank's side of it. Knows nothing of tensors or of process groups.
"""
