"""Pages generated from the code at every build, so that they need not repeat it by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = Path(__file__).resolve().parent
UNITS = {"s": "seconds", "share": "part of 1", "": ""}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(str(c).replace('|', '/') for c in row)} |\n" for row in lines)


def metrics() -> str:
    """Every metric of the registry."""
    from shadowtime.metrics import REGISTRY

    rows = (
        (f"`{m.name}`", m.definition, UNITS.get(m.unit, m.unit), m.better)
        for m in REGISTRY.values()
    )
    return table(("name", "definition", "unit", "better"), rows)


def cleaning() -> str:
    """Every cleaning rule."""
    from shadowtime.workload.clean import RULES

    return table(("rule", "what it counts"), ((f"`{rule}`", text) for rule, text in RULES.items()))


def parts() -> str:
    """Every part by slot, with its parameters."""
    from dataclasses import fields

    from shadowtime.policy.part import show
    from shadowtime.policy.values import parts as parts_by_slot

    def rows() -> Iterator[tuple[str, str, str, str]]:
        for slot, named in parts_by_slot().items():
            for name, part in named.items():
                settings = "; ".join(
                    f"`{f.name}={show(getattr(part, f.name))}` {f.metadata['doc']}"
                    for f in fields(part)
                    if f.metadata
                )
                yield f"`{slot}`", f"`{name}`", part.summary, settings

    return table(("slot", "part", "what it does", "parameters"), rows())


def policies() -> str:
    """The catalogue."""
    from shadowtime.policy import catalogue

    rows = ((f"`{p.name}`", p.summary, p.paper) for p in catalogue())
    return table(("policy", "what it does", "paper"), rows)


def claims() -> str:
    """What check can prove of a policy that says so."""
    from shadowtime.schedule.check import CLAIMS

    return table(("claim", "what it says"), ((f"`{name}`", text) for name, text in CLAIMS.items()))


def trust() -> str:
    """The causes beside replay's verdict."""
    from shadowtime.study.trust import RULES

    def bound(value: float, unit: str) -> str:
        return f"{100 * value:g} %" if unit == "share" else f"{value:g}"

    rows = (
        (f"`{rule.name}`", rule.measures, bound(rule.bound, rule.unit),
         "yes" if rule.adds else "", rule.reason)
        for rule in RULES
    )  # fmt: skip
    return table(("cause", "measures", "nothing to mention up to", "adds", "else"), rows)


def limits() -> str:
    """What the readers of a site meet and do not model, from their own lists."""
    from shadowtime.cluster.features import NOT_MODELLED as OF_FEATURES
    from shadowtime.cluster.known_settings import LACKING, RESERVATION_FLAGS
    from shadowtime.cluster.sacctmgr import UNFOLLOWED
    from shadowtime.cluster.slurm_records import NOT_MODELLED, USUAL
    from shadowtime.slurm.parameters import NO_EFFECT
    from shadowtime.study.site.keys import PARAMETERS, SCOPES, SETTINGS

    def rows() -> Iterator[tuple[str, str]]:
        for name in sorted(NO_EFFECT):
            yield "SchedulerParameters", f"`{name}`"
        for name, usual in USUAL.items():
            yield "partition", f"`{name}`, if it is not {usual or 'empty'}"
        for name in NOT_MODELLED:
            yield "reservation", f"`{name}`"
        for name in sorted(RESERVATION_FLAGS):
            yield "reservation", f"flag `{name}`"
        for name in UNFOLLOWED:
            yield "QOS, association", f"`{name}`"
        for name, usual in LACKING.items():
            yield "slurm.conf", f"`{name}`, if it is not {usual}"
        for what in OF_FEATURES:
            yield "features of a job", what

    known = [("SchedulerParameters", PARAMETERS), ("slurm.conf", SETTINGS), *SCOPES.items()]
    return (
        "## Met and not modelled\n\n"
        + table(("where", "what"), rows())
        + "\n## Modelled and changed by `whatif --set`\n\n"
        + table(("where", "keys"), ((at, ", ".join(f"`{n}`" for n in keys)) for at, keys in known))
    )


def command_line() -> str:
    """The help of every command."""
    from shadowtime.cli import app

    def pages(command: click.Command, context: click.Context, depth: int) -> Iterator[str]:
        yield f"{'#' * depth} {context.command_path}\n\n"
        yield f"```text\n{command.get_help(context)}\n```\n\n"
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                inner = click.Context(found, info_name=name, parent=context, max_content_width=100)
                yield from pages(found, inner, depth + 1)

    top = click.Context(app, info_name="shadowtime", max_content_width=100, terminal_width=100)
    return "".join(pages(app, top, 2))


def python() -> str:
    """The public Python names with their docstrings."""
    import inspect

    import shadowtime

    def described(title: str, thing: object) -> Iterator[str]:
        yield f"### `{title}`\n\n```text\n{inspect.getdoc(thing) or ''}\n```\n\n"

    def pages() -> Iterator[str]:
        for name in shadowtime.__all__:
            thing = getattr(shadowtime, name)
            if inspect.isclass(thing):
                yield from described(f"st.{name}", thing)
                rows = [
                    (f"`{key}`", (inspect.getdoc(value) or "").splitlines()[0])
                    for key, value in vars(thing).items()
                    if not key.startswith("_") and inspect.getdoc(value) and _is_ours(value)
                ]
                yield table(("member", "what it gives"), rows) + "\n" if rows else ""
            else:
                function = shadowtime.policy.make_policy if name == "policy" else thing
                yield from described(f"st.{name}{inspect.signature(function)}", function)

    return "".join(pages())


def _is_ours(value: object) -> bool:
    """A method, a property or a constructor, not a default value with its type's docstring."""
    import inspect
    from functools import cached_property

    kinds = (property, cached_property, staticmethod, classmethod)
    return inspect.isfunction(value) or isinstance(value, kinds)


def benchmarks() -> str:
    """The toctree of the measured pages that exist: scripts/bench writes them one by one."""
    names = (
        "index",
        "first-minutes",
        "growth",
        "whatif",
        "expected-error",
        "stripped",
        "live-site",
        "board",
        "faults",
        "estimates",
        "elastisim",
    )
    pages = [name for name in names if (HERE / "benchmarks" / f"{name}.md").exists()]
    lines = "".join(f"benchmarks/{name}\n" for name in pages)
    return f"```{{toctree}}\n:caption: Benchmarks\n:maxdepth: 1\n\n{lines}```\n" if pages else ""


PAGES = {
    "_benchmarks.md": benchmarks,
    "reference/_metrics.md": metrics,
    "reference/_cleaning.md": cleaning,
    "reference/_claims.md": claims,
    "reference/_trust.md": trust,
    "reference/_limits.md": limits,
    "reference/_command-line.md": command_line,
    "reference/_python.md": python,
    "policies/_parts.md": parts,
    "policies/_policies.md": policies,
}


def write_pages(*_: object) -> None:
    """Write each page that changed, so that an unchanged build stays quick."""
    for name, make in PAGES.items():
        path, text = HERE / name, make()
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
