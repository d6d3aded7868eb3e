"""HTCondor as a cluster to be driven: jobs wait on hold, are pinned to slots and released."""
