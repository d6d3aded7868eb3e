"""The machine: pools, hosts, nodes."""

from shadowtime.cluster.cluster import Cluster, Host

__all__ = ["Cluster", "Host"]
