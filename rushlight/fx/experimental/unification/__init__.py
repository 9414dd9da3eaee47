"""Unification: values for variables that make two terms equal."""

from rushlight.fx.experimental.unification.core import reify, unifiable, unify
from rushlight.fx.experimental.unification.variable import Var, isvar, var, variables, vars

__all__ = ["Var", "isvar", "reify", "unifiable", "unify", "var", "variables", "vars"]
