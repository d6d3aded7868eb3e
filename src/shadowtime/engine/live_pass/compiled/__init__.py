"""The compiled entries: filling the state, and one pass of each kind."""
