"""The reproductions, a folder each: published tables, figures and claims beside our own numbers.

What they share: tables, figures and claims as values (``tables``, ``figures``, ``claims``), what
is run and how (``subjects``, ``reproduction``), pictures of the figures (``picture``). A paper's
folder has a ``PAPER`` in its ``__init__``; the published numbers are files in ``published``.
"""

from shadowtime.study.papers.claims import Claim, Published, Verdict
from shadowtime.study.papers.figures import Panel, PaperFigure, Series
from shadowtime.study.papers.reproduction import (
    Paper,
    Plan,
    Reproduction,
    SubjectRun,
    Task,
    carry_out,
)
from shadowtime.study.papers.subjects import Log, Subject, find_subjects
from shadowtime.study.papers.tables import Cell, PaperTable, Row

__all__ = [
    "Cell",
    "Claim",
    "Log",
    "Panel",
    "Paper",
    "PaperFigure",
    "PaperTable",
    "Plan",
    "Published",
    "Reproduction",
    "Row",
    "Series",
    "Subject",
    "SubjectRun",
    "Task",
    "Verdict",
    "carry_out",
    "find_subjects",
]
