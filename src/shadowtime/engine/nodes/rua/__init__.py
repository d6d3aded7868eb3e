"""RUA on nodes: the Reservation Table, its passes and the kernels that they share.

spec: algorithms 4.
"""
