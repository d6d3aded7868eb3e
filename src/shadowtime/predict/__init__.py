"""Run time predictors: from a log to a prediction for each of its jobs."""

from shadowtime.predict.parts import predictions

__all__ = ["predictions"]
