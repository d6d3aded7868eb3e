"""The reproductions, a folder each: published tables, figures and claims beside our own numbers.

What they share: tables, figures and claims as values (``tables``, ``figures``, ``claims``), what
is run and how (``subjects``, ``reproduction``), pictures of the figures (``picture``). A paper's
folder has a ``PAPER`` in its ``__init__``; the published numbers are files in ``published``.
"""

from shadowtime.study.papers.claims import NEAR, Claim, Published, Verdict, near
from shadowtime.study.papers.figures import Panel, PaperFigure, Series
from shadowtime.study.papers.reproduction import (
    Paper,
    Plan,
    Reproduction,
    Runs,
    SubjectRun,
    Task,
    carry_out,
    of_kind,
)
from shadowtime.study.papers.subjects import GENERATED_NOTE, Log, Subject, find_subjects
from shadowtime.study.papers.tables import Cell, Estimate, PaperTable, Row

__all__ = [
    "GENERATED_NOTE",
    "NEAR",
    "Cell",
    "Claim",
    "Estimate",
    "Log",
    "Panel",
    "Paper",
    "PaperFigure",
    "PaperTable",
    "Plan",
    "Published",
    "Reproduction",
    "Row",
    "Runs",
    "Series",
    "Subject",
    "SubjectRun",
    "Task",
    "Verdict",
    "carry_out",
    "find_subjects",
    "near",
    "of_kind",
]
