"""Typed columns: the rule that settles types, and the casts from cells to numbers."""
