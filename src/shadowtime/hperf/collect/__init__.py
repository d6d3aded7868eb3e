"""Collectors: from what hardware or a tool reports about a finished job to a record.

``perf`` counts misses of the last cache level, ``resctrl`` reads the memory-bandwidth monitor, a
job may declare its demand, and any other tool can write a CSV (hperf/files.py). Each reports
at once if the hardware is missing.
"""
