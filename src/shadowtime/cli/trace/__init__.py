"""Inspect, generate, convert and download job logs."""

COMMANDS = {"Commands": ("info", "generate", "convert", "fetch", "fetch.sacct")}
