"""Metrics that exist once for every resource of a machine, whatever it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shadowtime.metrics.metric import Metric

if TYPE_CHECKING:
    from shadowtime.metrics.metric import Better

USUAL = ("procs", "memory", "gpus")
"""Resources whose metrics are listed; those of others are described when asked for."""

_NOUN = {"procs": "processors", "gpus": "GPUs"}

_PATTERNS: tuple[tuple[str, str, Better, str], ...] = (
    ("utilisation_", "{Noun} in use", "higher", "as utilisation, of {noun}"),
    ("stranded_", "{Noun} stranded", "lower",
     "free {noun} while the first waiting job finds enough of them but not of another resource, "
     "over all {noun} x the window (pools)"),
    ("short_", "Time short of {noun}", "neither",
     "part of the time with a waiting job in which the first one does not find enough {noun} "
     "(pools)"),
    ("dominant_", "Jobs that ask mostly for {noun}", "neither",
     "scored jobs whose largest share of any resource is that of {noun}, over scored jobs"),
)  # fmt: skip


def described(name: str) -> Metric | None:
    """The metric of this name if it is one of those that every resource has.

    Examples
    --------
    >>> described("stranded_license/matlab").label
    'License/matlab stranded'
    >>> described("wait_mean_s") is None
    True
    """
    for stem, label, better, definition in _PATTERNS:
        resource = name.removeprefix(stem)
        if resource == name or not resource or name == "dominant_share_mean":
            continue
        noun = _NOUN.get(resource, resource)
        words = {"noun": noun, "Noun": noun[:1].upper() + noun[1:]}
        return Metric(
            name=name,
            label=label.format(**words),
            unit="share",
            better=better,
            group="" if stem == "utilisation_" else "resources",
            definition=definition.format(**words),
        )
    return None


def usual() -> list[Metric]:
    """Those of processors, memory and GPUs; the utilisation of processors is simply that."""
    names = [stem + name for stem, *_ in _PATTERNS for name in USUAL]
    found = (described(name) for name in names if name != "utilisation_procs")
    return [metric for metric in found if metric is not None]
