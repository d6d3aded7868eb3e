"""Compiled code: the tables of a run, and the functions of passes on them."""
