"""From a public name and a caller's arguments to what runs: the dispatcher and its callables.

Begin with dispatcher.py (lookup), then runners/ (how rows of each kind are run) and nodes/ (what they leave
in the graph). arguments.py binds and checks; overrides.py and interpreters.py say who may take an op over.
Nothing here knows what an op means: the table says that.
"""
