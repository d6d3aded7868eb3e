"""The engine: one event loop, its passes, and simulate()."""

from shadowtime.engine.simulate import simulate

__all__ = ["simulate"]
