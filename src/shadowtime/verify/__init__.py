"""The policies a second time, slow and obvious: what ``check`` follows a schedule with.

A file per kind of machine or part, written from the specification and sharing nothing with the
engine and its kernels. The tests compare every compiled pass with them.
"""
