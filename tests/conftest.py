"""Property tests draw the same cases in every run; `--hypothesis-profile=random` draws others."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("random")
settings.load_profile("repeatable")
