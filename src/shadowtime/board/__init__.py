"""The board: a cluster's queue, its past day and its predicted future as a page for everybody.

Read-only. `sources` poll Slurm or HTCondor, `estimator` predicts starts in a process of its own,
`keeper` joins both into versioned documents, `server` hands them to browsers, `page` draws them.
"""
