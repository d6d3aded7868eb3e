"""The same run with one thing changed: jobs that are not there, or one that asks for less."""
