"""MySQL's functions as Python functions.

NULL is None; bytes are texts with one character per byte. Functions raise FunctionProblem.
"""
