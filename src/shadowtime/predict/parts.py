"""From an estimate part to the predictions it makes for a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shadowtime.errors import PolicyError
from shadowtime.policy import predictors as parts
from shadowtime.predict.boosted import boosted
from shadowtime.predict.files import from_column, from_file
from shadowtime.predict.nearest import nearest
from shadowtime.predict.users import max_of_last, user_quantile

if TYPE_CHECKING:
    from shadowtime.types import Floats
    from shadowtime.workload import Workload


def predictions(part: parts.FromLog, workload: Workload) -> Floats:
    """Seconds for every job, not yet brought within [1, request]; nan where nothing is known.

    Examples
    --------
    >>> from shadowtime.workload import Workload
    >>> jobs = Workload.build(
    ...     submit=[0, 50, 60], run=[10, 9, 9], request=[20, 40, 60], procs=[1, 1, 1], user=[7] * 3)
    >>> predictions(parts.MaxOfLast(), jobs).tolist()
    [nan, 20.0, 30.0]
    """
    if len(workload) == 0:
        return np.empty(0)
    if isinstance(part, parts.Column):
        return from_column(workload, part.column)
    if isinstance(part, parts.FromFile):
        return from_file(workload, part.path)
    if isinstance(part, parts.MaxOfLast):
        return max_of_last(workload, jobs=part.jobs)
    if isinstance(part, parts.UserQuantile):
        return user_quantile(workload, quantile=part.quantile, jobs=part.jobs, least=part.least)
    if isinstance(part, parts.Nearest):
        return nearest(workload, k=part.k, window=part.window)
    if isinstance(part, parts.Boosted):
        return boosted(
            workload,
            quantile=part.quantile,
            days=part.days,
            window=part.window,
            least=part.least,
            seed=part.seed,
        )
    raise PolicyError(f"no predictor knows the estimate part {part}")
