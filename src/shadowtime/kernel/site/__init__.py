"""Availability over nodes x resources x time, with named nodes in every plan."""
