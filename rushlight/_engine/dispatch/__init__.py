"""From a public name and a caller's arguments to what runs: the dispatcher and its callables."""
