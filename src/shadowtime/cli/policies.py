"""shadowtime policies: the policies, their parts and their papers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.text import Text

from shadowtime.cli.common import console, outputs, tables
from shadowtime.errors import UsageError
from shadowtime.policy import Policy, catalogue, parse, parse_policy
from shadowtime.policy.part import Part
from shadowtime.policy.part import show as text_of
from shadowtime.policy.values import added_parts, parts

QUESTIONS = {
    "order": "which job is next?",
    "reserve": "which jobs are promised a start?",
    "backfill": "which jobs may overtake?",
    "place": "where?",
    "estimate": "how long will it run?",
    "preempt": "which jobs may be stopped?",
    "partition": "where may it run?",
}
ENDLESS = 1_000_000_000
"""A bound from here on means that there is none."""


def policies(name: str | None = None, *, parts: bool = False, json: bool = False) -> None:
    """List the policies, or describe the one called NAME: slots, parameters, paper.

    A policy is made of parts, one for each slot, and any of them can be replaced:

    \b
    shadowtime policies easy
    shadowtime policies 'easy(reserve=4, order=lxfw)'
    shadowtime policies --parts

    Parameters
    ----------
    name
        A policy.
    parts
        List the parts that can fill each slot.
    """
    if parts:
        if json:
            outputs.print_json(_parts_object())
        else:
            _show_parts()
    elif name is None:
        added = parse.added_policies()
        made = [*catalogue(), *(found for found in added.values() if hasattr(found, "parts"))]
        listed = [_as_object(policy) for policy in made]
        listed += [_own_object(n, one) for n, one in added.items() if not hasattr(one, "parts")]
        listed += [_scheduler_object(policy) for policy in parse.whole_schedulers()]
        if json:
            outputs.print_json({"policies": listed})
        else:
            _show_list(listed)
    else:
        policy = parse_policy(name)
        if hasattr(policy, "parameters_on"):
            _show_scheduler(policy, as_json=json)
            return
        if not hasattr(policy, "parts"):
            raise UsageError(f"{name} is implemented by its own code and has no slots to show")
        if json:
            outputs.print_json(_as_object(policy))
        else:
            _show_one(policy)


def _scheduler_object(policy: Any) -> dict[str, Any]:
    about = {"name": policy.name, "summary": policy.summary, "paper": policy.paper}
    parameters = policy.parameters_on({})
    shown = {"version": parameters.rules.version, **asdict(parameters)}
    del shown["rules"]
    return {**about, "slots": {}, "parameters": shown}


def _show_scheduler(policy: Any, *, as_json: bool) -> None:
    """A whole scheduler: its parameters, with the values that a bare site gives them."""
    about = _scheduler_object(policy)
    if as_json:
        outputs.print_json(about)
        return
    table = tables.plain_table("parameter", "value")
    for key, value in about["parameters"].items():
        table.add_row(key, str(value))
    name = (policy.name, "bold cyan")
    head = Text.assemble(name, f": {policy.summary}\n", (f"{policy.paper}\n", "dim"))
    note = (
        "\nA site's own version and SchedulerParameters override these defaults. "
        "Times are in seconds."
    )
    console.show(head, table, Text(note, "dim"))


def _as_object(policy: Policy) -> dict[str, Any]:
    return {
        "name": policy.name,
        "summary": policy.summary,
        "paper": policy.paper,
        "slots": policy.parameters,
        "parameters": {
            f"{slot}.{parameter}": value
            for slot, part in policy.parts.items()
            for parameter, value in part.settings().items()
        },
    }


def _parts_object() -> dict[str, dict[str, str]]:
    return {
        slot: {name: _meaning(name, part) for name, part in {**named, **added_parts(slot)}.items()}
        for slot, named in parts().items()
    }


def _meaning(name: str, part: Part) -> str:
    """What a part does; for another part with other settings, which one."""
    same = str(part) in (name, part.name)
    return part.summary if same else f"{part}: {part.summary}"


def _own_object(name: str, policy: Any) -> dict[str, Any]:
    """An object with ``decide`` that another package adds; its docstring is what it does."""
    text = (type(policy).__doc__ or "a policy written in Python").strip()
    summary = text.splitlines()[0].rstrip(".")
    return {"name": name, "summary": summary, "paper": "", "slots": {}, "parameters": {}}


def _show_list(policies: list[dict[str, Any]]) -> None:
    table = tables.plain_table("policy", "what it does", "paper")
    table.columns[0].no_wrap = table.columns[2].no_wrap = True
    table.columns[2].overflow, table.columns[2].max_width = "ellipsis", 34
    for policy in policies:
        name, paper = Text(policy["name"], "cyan"), Text(policy["paper"], "dim")
        table.add_row(name, policy["summary"], paper)
    more = Text(
        "\nshadowtime policies NAME shows one; --parts shows what can fill each slot", "dim"
    )
    console.show(table, more)


def _show_one(policy: Policy) -> None:
    slots = tables.plain_table("slot", "asks", "part", "which means")
    for slot, part in policy.parts.items():
        slots.add_row(slot, Text(QUESTIONS[slot], "dim"), Text(str(part), "cyan"), part.summary)
    head = Text.assemble((policy.name, "bold cyan"), f": {policy.summary}")
    paper = [Text(f"paper: {policy.paper}", "dim")] if policy.paper else []
    settings = [row for part in policy.parts.values() for row in _settings(part)]
    body: list[Any] = [head, *paper, Text(), slots]
    if settings:
        table = tables.plain_table("parameter", "value", "allowed", "meaning")
        for row in settings:
            table.add_row(Text(row[0], "cyan"), *row[1:])
        body += [Text(), table]
    body += [Text("\nparts can be replaced, as in --policy 'easy(reserve=4, order=lxfw)'", "dim")]
    console.show(*body)


def _settings(part: Part) -> list[tuple[str, str, str, str]]:
    rows = []
    values = part.settings()
    for name, field in part.declared().items():
        low, high, choices = (field.metadata[key] for key in ("low", "high", "choices"))
        allowed = ", ".join(choices)
        if isinstance(field.default, bool):
            allowed = "yes, no"
        elif low is not None or high is not None:
            allowed = (
                f"{low:g} or more" if high is None or high >= ENDLESS else f"{low:g} to {high:g}"
            )
        rows.append((name, text_of(values[name]), allowed, field.metadata["doc"]))
    return rows


def _show_parts() -> None:
    table = tables.plain_table("slot", "part", "what it does")
    for slot, named in _parts_object().items():
        for number, (name, summary) in enumerate(named.items()):
            table.add_row("" if number else slot, Text(name, "cyan"), summary)
    console.show(table)
