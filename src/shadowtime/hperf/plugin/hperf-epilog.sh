#!/bin/sh
# Slurm's EpilogSlurmctld: what a finished job drew goes into the performance store.
# The URL of the store, which may hold a password, is in a file that only SlurmUser can read.
# Bounded in time, and always 0: an epilog that fails drains nodes.
PATH=/usr/local/bin:/usr/bin:/bin
export PATH
timeout 30 @PYTHON@ -m shadowtime hperf epilog --store-file '@STOREFILE@' --table '@TABLE@' --spool '@SPOOL@' \
    >>'@LOG@' 2>&1 </dev/null
exit 0
