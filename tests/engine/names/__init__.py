"""Tests of the engine's names."""
