"""Nodes: jobs that share bandwidth, placements that consider it, ends that move."""

from shadowtime.engine.nodes.simulate import simulate_nodes

__all__ = ["simulate_nodes"]
