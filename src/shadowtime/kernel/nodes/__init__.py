"""Nodes: the Reservation Table, what an allocation costs, and jobs that run at moving rates."""
