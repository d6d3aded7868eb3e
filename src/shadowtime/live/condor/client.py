"""The thin part: HTCondor's own bindings behind the few calls that the port needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from shadowtime.errors import UsageError
from shadowtime.live.condor.conditions import configured_limit
from shadowtime.live.condor.gate import ORIGINAL, these
from shadowtime.live.port import PortError

Ad = dict[str, Any]
"""Attributes by their names in lower case; undefined ones are omitted, expressions are text."""


class Client(Protocol):
    """What the port needs from a pool; PortError if the pool does not answer."""

    def schedds(self) -> tuple[str, ...]:
        """The schedds whose jobs are known, as the pool names them."""

    def queue(self, constraint: str, attributes: Sequence[str]) -> list[Ad]:
        """Jobs in the queue."""

    def jobs(self, jobs: Sequence[str], attributes: Sequence[str]) -> list[Ad]:
        """Some jobs by name, those that are still in the queue."""

    def slots(self, attributes: Sequence[str]) -> list[Ad]:
        """All slots that the collector knows."""

    def limits(self, names: Sequence[str]) -> dict[str, float]:
        """The concurrency limits of these names, as the negotiator is configured."""

    def ended(self, jobs: Sequence[str], attributes: Sequence[str]) -> list[Ad]:
        """Jobs that left the queue."""

    def matching(self, jobs: Sequence[str], whole: Sequence[Ad]) -> dict[str, list[str]]:
        """The slots that each job's own Requirements accept, were they empty."""

    def edit(self, job: str, attribute: str, expression: str) -> str:
        """Set an attribute; empty, or why the schedd refused."""

    def release(self, jobs: Sequence[str], condition: str) -> int:
        """Release those of the jobs on hold for which a condition holds; how many those were."""

    def hold(self, jobs: Sequence[str], condition: str, reason: str) -> int:
        """Put those of the jobs on hold for which a condition holds; how many those were."""


NOT_CONFIGURED = "Unable to determine collector host"


class Pool:
    """One schedd, over ``htcondor2``, of the pool that CONDOR_CONFIG or ``collector`` names."""

    def __init__(self, *, collector: str = "", schedd: str = "") -> None:
        try:
            import htcondor2
        except ImportError:
            raise UsageError(
                "HTCondor's Python bindings are missing: pip install 'shadowtime[condor]'"
            ) from None
        self._h = htcondor2
        self._collector_name, self._schedd_name = collector, schedd
        self._schedd: Any = None

    @contextmanager
    def _asking(self, what: str) -> Iterator[None]:
        try:
            yield
        except (self._h.HTCondorException, RuntimeError, OSError) as error:
            self._schedd = None  # it may come back at another address
            text = " ".join(str(error).split())
            if NOT_CONFIGURED in text:  # retrying does not help
                raise UsageError(
                    "no HTCondor pool is configured here: name its collector with --pool HOST, or "
                    "its configuration file in CONDOR_CONFIG"
                ) from None
            raise PortError(f"{what} does not answer ({text})") from None

    def _collector(self) -> Any:
        return self._h.Collector(self._collector_name or None)

    def _queue(self) -> Any:
        if self._schedd is None:
            with self._asking("the collector"):
                found = self._collector().locate(
                    self._h.DaemonType.Schedd, self._schedd_name or None
                )
                if found is None:
                    known = ", ".join(self.known_schedds()) or "none"
                    wanted = self._schedd_name or "on this machine"
                    raise PortError(f"the collector lists no schedd {wanted}; it lists {known}")
                self._found_name = str(found["Name"])
                self._schedd = self._h.Schedd(found)
        return self._schedd

    def known_schedds(self) -> list[str]:
        """Every schedd of the pool, sorted by name."""
        with self._asking("the collector"):
            found = self._collector().query(self._h.AdType.Schedd, projection=["Name"])
            return sorted({str(ad["Name"]) for ad in found})

    def schedds(self) -> tuple[str, ...]:
        self._queue()
        return (self._found_name,)

    def jobs(self, jobs: Sequence[str], attributes: Sequence[str]) -> list[Ad]:
        return self.queue(these(jobs), attributes)

    def queue(self, constraint: str, attributes: Sequence[str]) -> list[Ad]:
        queue = self._queue()
        with self._asking("the schedd"):
            return [plain(ad) for ad in queue.query(constraint, projection=list(attributes))]

    def slots(self, attributes: Sequence[str]) -> list[Ad]:
        with self._asking("the collector"):
            found = self._collector().query(self._h.AdType.Startd, projection=list(attributes))
            return [plain(ad) for ad in found]

    def limits(self, names: Sequence[str]) -> dict[str, float]:
        with self._asking("the negotiator"):
            found = self._collector().locate(self._h.DaemonType.Negotiator)
            if found is None:
                raise PortError("the collector lists no negotiator")
            settings = self._h.RemoteParam(found)
            spelt = {str(key).upper(): key for key in settings}  # as its files spell it

            def lookup(key: str) -> str | None:
                return str(settings[spelt[key]]) if key in spelt else None

            return {name: configured_limit(name, lookup) for name in names}

    def ended(self, jobs: Sequence[str], attributes: Sequence[str]) -> list[Ad]:
        queue = self._queue()
        with self._asking("the schedd's history"):
            found = queue.history(these(jobs), list(attributes), match=len(jobs))
            return [plain(ad) for ad in found]

    def matching(self, jobs: Sequence[str], whole: Sequence[Ad]) -> dict[str, list[str]]:
        queue = self._queue()
        with self._asking("the schedd"):
            ads = queue.query(these(jobs))
        with self._asking("the collector"):
            slots = self._collector().query(
                self._h.AdType.Startd, constraint="DynamicSlot =!= True"
            )
        empty = {str(ad["name"]): ad for ad in whole}
        for slot in slots:
            for name, amount in empty.get(str(slot["Name"]), {}).items():
                if name != "name":
                    slot[name] = amount
        found: dict[str, list[str]] = {}
        for ad in ads:
            if ORIGINAL in ad:
                ad["Requirements"] = ad.lookup(ORIGINAL)
            # The ad in the brackets is the one whose Requirements are asked.
            good = [str(slot["Name"]) for slot in slots if slot.matches(ad)]
            found[f"{ad['ClusterId']}.{ad['ProcId']}"] = good
        return found

    def edit(self, job: str, attribute: str, expression: str) -> str:
        queue = self._queue()
        try:
            queue.edit([job], attribute, expression)
        except self._h.HTCondorException as error:
            text = " ".join(str(error).split())
            if "nonexistent" in text:
                return "it is no longer in the queue"
            if "ermission" in text or "not owner" in text.lower():
                return f"the schedd does not let us change it ({text})"
            raise PortError(f"the schedd does not answer ({text})") from None
        return ""

    def release(self, jobs: Sequence[str], condition: str) -> int:
        return self._act(self._h.JobAction.Release, jobs, condition, "released by the policy")

    def hold(self, jobs: Sequence[str], condition: str, reason: str) -> int:
        return self._act(self._h.JobAction.Hold, jobs, condition, reason)

    def _act(self, action: Any, jobs: Sequence[str], condition: str, reason: str) -> int:
        queue = self._queue()
        constraint = f"({these(jobs)}) && {condition}"
        with self._asking("the schedd"):
            # A reason alone is lost by the bindings; with a code it arrives.
            answer = queue.act(action, constraint, reason=(reason, 0))
        return int(answer["TotalSuccess"]) if answer is not None else 0


def plain(ad: Any) -> Ad:
    """A ClassAd as plain values; expressions are evaluated if possible, else text."""
    found: Ad = {}
    for name in ad.keys():  # noqa: SIM118 (a ClassAd iterates differently)
        value = ad[name]
        if not isinstance(value, bool | int | float | str):
            if name.lower() in ("requirements", "shadowtimerequirements"):
                value = str(value)
            else:
                value = _worked_out(ad, name)
        if value is not None:
            found[name.lower()] = value
    return found


def _worked_out(ad: Any, name: str) -> Any:
    evaluate: Callable[[str], Any] = ad.eval
    try:
        value = evaluate(name)
    except Exception:  # the bindings raise various errors for an invalid expression
        return None
    return value if isinstance(value, bool | int | float | str) else None
