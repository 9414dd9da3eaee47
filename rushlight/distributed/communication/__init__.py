"""What ranks send each other: collectives, exchanges, single transfers, pickled objects.

Begin with collectives.py. A collective is a generator of steps (wire.py: MPI, or one rank alone) that
operation_queue.py runs in order, at once or on the group's thread; work.py is the handle of one under
way. Knows of process groups only as whom to send to; of models nothing.
"""
