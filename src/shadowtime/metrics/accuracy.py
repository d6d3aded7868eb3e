"""Accuracy of run time predictions: error, and its direction."""

from __future__ import annotations

import numpy as np

from shadowtime.metrics.by_class import ClassRow
from shadowtime.metrics.classes import classify
from shadowtime.metrics.statistics import percentile
from shadowtime.types import AnyArray, Ints
from shadowtime.workload import Workload


def accuracy(prediction: Ints, run: Ints) -> dict[str, float]:
    """The errors of some predictions; nothing if there are none.

    Rules
    -----
    The error of a job is |prediction - run|, its relative error that over the run (a run of 0 s
    counts as 1 s): a virtual predictor that errs by up to x has a mean of x / 2. The mean of the
    relative error depends on short jobs with long predictions, so the median is given too, and
    Tsafrir's accuracy, which lies between 0 and 1: the smaller of prediction and run over the
    larger.

    References
    ----------
    Yuan et al. 2010, section 5.2.2; Tsafrir et al. 2007, section 3.

    Examples
    --------
    >>> found = accuracy(np.array([50, 100, 300]), np.array([100, 100, 100]))
    >>> found["prediction_error_mean"], found["prediction_under"], found["prediction_over_mean_s"]
    (0.8333333333333334, 0.3333333333333333, 200.0)
    """
    if len(run) == 0:
        return {}
    counted = np.maximum(run, 1)
    miss = prediction - run
    error = np.abs(miss)
    relative = error / counted
    under, over = miss < 0, miss > 0
    smaller, larger = np.minimum(prediction, counted), np.maximum(prediction, counted)
    result = {
        "prediction_error_mean": float(relative.mean()),
        "prediction_error_median": percentile(relative, 50),
        "prediction_error_mean_s": float(error.mean()),
        "prediction_accuracy_mean": float((smaller / np.maximum(larger, 1)).mean()),
        "prediction_under": float(under.mean()),
        "prediction_over": float(over.mean()),
    }
    if under.any():
        result["prediction_under_mean_s"] = float(error[under].mean())
    if over.any():
        result["prediction_over_mean_s"] = float(error[over].mean())
    return result


def accuracy_by(
    prediction: Ints,
    workload: Workload,
    kind: str,
    *,
    only: AnyArray | None = None,
) -> list[ClassRow]:
    """A row for every class of jobs; ``kind`` as in classify().

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> w = Workload.build(submit=[0, 0], run=[60, 60], procs=[1, 8], user=[5, 6])
    >>> for row in accuracy_by(np.array([90, 60]), w, "user"):
    ...     print(row.label, row.metrics["prediction_error_mean"], row.metrics["prediction_over"])
    user 6 0.0 0.0
    user 5 0.5 1.0
    """
    classes = classify(workload, kind)
    run = workload.effective_run
    scored = np.ones(len(workload), bool) if only is None else only
    rows = []
    for number, label in enumerate(classes.labels):
        members = np.flatnonzero((classes.of == number) & scored)
        if len(members):
            metrics = accuracy(prediction[members], run[members])
            rows.append(ClassRow(kind=kind, label=label, jobs=len(members), metrics=metrics))
    return rows
