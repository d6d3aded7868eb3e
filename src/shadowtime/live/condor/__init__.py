"""Driving HTCondor: jobs wait on hold, are pinned to slots and released."""
