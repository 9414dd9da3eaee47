"""Modules that lie on other workers."""
