"""Commands made from functions: a parameter is an option, its entry in the docstring the help.

A command's file is read with :mod:`ast` and imported only when the command runs: it may import what
it needs at the top, and help stays instant.

Rules
-----
A positional parameter is an argument, a keyword-only one an option; without a default it is
required. The option of ``max_size`` is --max-size, that of ``if_`` --if, and that of a sequence
``policies`` --policy, which may be repeated. A bool is a flag, a Literal a choice, ``File``,
``Folder``, ``Seconds``, ``Bytes`` and ``Between`` are described in :mod:`shadowtime.types`. The
section Parameters of the docstring holds how the value is called, its bounds, and the help::

    shake : N >= 0
        Also run N copies of the log.

Bounds are ``>= 0``, ``> 0`` and ``in 1..9``; ``$NAME`` is a variable of the environment to read,
``--other`` a second name. A value that is called ``M,...`` is several values with commas. A
parameter without an entry has that of :data:`~shadowtime.cli.common.shared.SHARED` or of the live
backends.

A parameter that is a dataclass stands for those of its fields that the function does not have
itself; their docstrings are ``N >= 0 : Also run N copies``. ``**name``, described as "Options of
:func:`shadowtime.tune`", stands for the keywords of that public function which have an entry: the
same names, the same defaults.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from inspect import cleandoc
from pathlib import Path
from typing import Any, NamedTuple

import click

import shadowtime
from shadowtime.cli.common.shared import SHARED, Commas, Range, Size, Span, policy_names

ROOT = Path(shadowtime.__file__).parent
REQUIRED: Any = object()
SHORT = {"policy": "-p", "cluster": "-c", "output": "-o", "predictor": "-e"}
ALIKE = ("series", "gres", "add_nodes", "remove_nodes")
"""Sequences whose option has their name: each value is a plural, or the word has no other form."""
INPUTS = ("cluster", "clusters", "policy", "policies")
"""Options that help shows before those of a public function."""
KINDS: dict[str, Any] = {
    "Any": None,
    "str": None,
    "int": int,
    "float": float,
    "str | os.PathLike[str]": click.Path(),
    "Path": click.Path(path_type=Path),
    "File": click.Path(dir_okay=False),
    "Folder": click.Path(file_okay=False),
    "FileOrFolder": click.Path(),
    "Seconds": Span(),
    "Bytes": Size(),
    "Between": Range(),
}
ENTRY = re.compile(r"^(\*{0,2}\w+)(?: : (.*))?\n((?:    .*\n|\n)*)", re.MULTILINE)
BOUNDS = re.compile(r"(>=|>) ?([\d.]+)|in (\d+)\.\.(\d+)")


class Source:
    """A module as text: what it defines and what it imports, without running it."""

    def __init__(self, module: str) -> None:
        self.module = module
        path = ROOT.joinpath(*module.split(".")[1:])
        file = path.with_suffix(".py")
        file = file if file.is_file() else path / "__init__.py"
        self.tree = ast.parse(file.read_text("utf-8"))

    @cached_property
    def names(self) -> dict[str, ast.AST]:
        """Functions, classes, constants and imports of the top level."""
        found: dict[str, ast.AST] = {}
        inner = [one for node in self.tree.body if isinstance(node, ast.If) for one in node.body]
        for node in (*inner, *self.tree.body):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found[node.name] = node
            elif isinstance(node, ast.ImportFrom):
                found |= {alias.asname or alias.name: node for alias in node.names}
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {one.id: node.value for one in targets if isinstance(one, ast.Name)}
        return found

    def find(self, name: str) -> tuple[Source, ast.AST] | None:
        """Where something is defined, here or in the module of ours that it is imported from."""
        node = self.names.get(name)
        if isinstance(node, ast.ImportFrom):
            ours = (node.module or "").startswith("shadowtime.")
            return source_of(str(node.module)).find(name) if ours else None
        return None if node is None else (self, node)

    def function(self, name: str) -> ast.FunctionDef | None:
        """A function that the module defines."""
        node = self.names.get(name)
        return node if isinstance(node, ast.FunctionDef) else None

    def constant(self, name: str, default: Any) -> Any:
        """A constant of the module, if it has one."""
        return self.value(self.names[name]) if name in self.names else default

    def value(self, node: ast.AST) -> Any:
        """A literal, or a constant by its name."""
        if isinstance(node, ast.Name) and (found := self.find(node.id)):
            return found[0].value(found[1])
        return ast.literal_eval(ast.unparse(node))


source_of = cache(Source)


class Parameter(NamedTuple):
    """A parameter of a function, with its entry in the docstring."""

    name: str
    kind: str
    """argument, arguments or option"""
    type: str
    default: Any
    about: str
    help: str

    @property
    def options(self) -> tuple[Parameter, ...]:
        """What it is on the command line."""
        return (self,)


class Group(NamedTuple):
    """A parameter that is a dataclass of options, and its fields."""

    name: str
    module: str
    type: str
    options: tuple[Parameter, ...]


def entries(text: str) -> dict[str, tuple[str, str]]:
    """How each value is called, and its help, from a section Parameters.

    Examples
    --------
    >>> entries("shake : N >= 0\\n    Also run N\\n    copies.\\njson\\n    As JSON.\\n")
    {'shake': ('N >= 0', 'Also run N copies.'), 'json': ('', 'As JSON.')}
    """
    return {
        name: (about or "", " ".join(help.split()))
        for name, about, help in ENTRY.findall(f"{text}\n")
    }


@cache
def shared() -> dict[str, tuple[str, str]]:
    """The entries of parameters that several commands have."""
    return entries(cleandoc(SHARED) + "\n")


@cache
def of_backends() -> dict[str, tuple[str, str]]:
    """The entries of options that Slurm's and HTCondor's live backends declare."""
    found = {"shape": ("", source_of("shadowtime.live.slurm.backend").constant("SHAPE_HELP", ""))}
    for backend in ("slurm", "condor"):
        source = source_of(f"shadowtime.live.{backend}.backend")
        for node in source.names.values():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Option":
                said = {one.arg: source.value(one.value) for one in node.keywords}
                least = " >= 0.1" if said.get("kind") == "seconds" else ""
                about = f"{said.get('metavar', 'NAME')}{least}"
                found[said["name"].lstrip("-")] = (about, said["help"])
    return found


def sections(node: ast.AST) -> tuple[str, dict[str, tuple[str, str]]]:
    """The text of a docstring before its first section, and the entries of its parameters."""
    text = ast.get_docstring(node) or ""  # type: ignore[arg-type]
    parts = re.split(r"^(\w+)\n-+\n", text, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    return parts[0].strip(), entries(found.get("Parameters", ""))


def parameters(
    source: Source, node: ast.FunctionDef, *, described: bool = False
) -> Iterator[Parameter | Group]:
    """The parameters of a function, those of the public function it calls after its arguments.

    With ``described`` only the keywords that have an entry.
    """
    own = sections(node)[1]
    known = {**shared(), **own}
    every = node.args
    first = [*every.posonlyargs, *every.args]
    missing: list[ast.expr | None] = [None] * (len(first) - len(every.defaults))
    for one, default in zip(first, [*missing, *every.defaults], strict=True):
        yield _parameter(source, one, default, own, kind="argument")
    if every.vararg is not None:
        yield _parameter(source, every.vararg, None, own, kind="arguments")
    names = {one.arg for one in (*first, *every.kwonlyargs)}
    keywords = list(zip(every.kwonlyargs, every.kw_defaults, strict=True))
    groups = {one.arg: group for one in every.kwonlyargs if (group := _group(source, one))}
    grouped = {one.name for group in groups.values() for one in group.options}
    inputs = [pair for pair in keywords if every.kwarg and pair[0].arg in INPUTS]
    for one, default in inputs:
        yield _parameter(source, one, default, known, kind="option")
    if every.kwarg is not None:
        public = _public(known[f"**{every.kwarg.arg}"][1])
        yield from (one for one in public if one.name not in names | grouped)
    for one, default in (pair for pair in keywords if pair not in inputs):
        if group := groups.get(one.arg):
            yield group._replace(options=tuple(x for x in group.options if x.name not in names))
        elif one.arg in known or not described:
            yield _parameter(source, one, default, known, kind="option")


def _parameter(
    source: Source,
    node: ast.arg,
    default: ast.AST | None,
    known: Mapping[str, tuple[str, str]],
    *,
    kind: str,
) -> Parameter:
    value = REQUIRED if default is None else source.value(default)
    about, help = known.get(node.arg) or of_backends().get(node.arg, ("", ""))
    return Parameter(node.arg, kind, _type(source, node.annotation), value, about, help)


def _type(source: Source, node: ast.AST | None) -> str:
    """A type as text; a name for a choice of ours is replaced by the choice."""
    text = ast.unparse(node) if node else "Any"
    bare = text.removesuffix(" | None")
    if bare in KINDS or not bare.isidentifier() or not (found := source.find(bare)):
        return text
    return text if isinstance(found[1], ast.ClassDef) else ast.unparse(found[1])


def _public(help: str) -> Iterator[Parameter | Group]:
    """The keywords of a public function that have an entry."""
    named = re.search(r":func:`shadowtime\.(\w+)`", help)
    found = named and source_of("shadowtime").find(named[1])
    assert found, help
    source, node = found
    assert isinstance(node, ast.FunctionDef)
    for one in parameters(source, node, described=True):
        if isinstance(one, Group) or one.kind == "option":
            yield one


def _group(source: Source, node: ast.arg) -> Group | None:
    """A parameter that is a dataclass."""
    found = source.find(ast.unparse(node.annotation)) if node.annotation else None
    if found is None or not isinstance(found[1], ast.ClassDef):
        return None
    return Group(node.arg, found[0].module, found[1].name, tuple(fields(*found)))


def fields(source: Source, node: ast.AST) -> Iterator[Parameter]:
    """The fields of a dataclass, then those of the dataclasses that it extends."""
    assert isinstance(node, ast.ClassDef)
    for one, after in zip(node.body, [*node.body[1:], None], strict=True):
        if not isinstance(one, ast.AnnAssign) or not isinstance(one.target, ast.Name):
            continue
        if isinstance(one.value, ast.Call):  # field(default_factory=...): no value of an option
            continue
        said = after.value if isinstance(after, ast.Expr) else None
        text = " ".join(str(said.value).split()) if isinstance(said, ast.Constant) else ""
        about, _, help = text.rpartition(" : ")
        if not text:
            about, help = {**of_backends(), **shared()}.get(one.target.id, ("", ""))
        value = REQUIRED if one.value is None else source.value(one.value)
        kind = _type(source, one.annotation)
        yield Parameter(one.target.id, "option", kind, value, about, help)
    for base in node.bases:
        if found := source.find(ast.unparse(base)):
            yield from fields(*found)


def option_name(name: str, *, several: bool) -> str:
    """The option of a parameter.

    Examples
    --------
    >>> option_name("policies", several=True), option_name("max_size", several=False)
    ('policy', 'max-size')
    """
    name = name.removesuffix("_")
    if several and name not in ALIKE:
        name = re.sub(r"s$", "", re.sub(r"ies$", "y", name))
    return name.replace("_", "-")


def as_click(one: Parameter) -> click.Parameter:
    """The argument or the option of a parameter."""
    text = one.type.removesuffix(" | None")
    items = re.fullmatch(r"(?:tuple|Sequence)\[(Literal\[[^]]*\]|[\w |]+)(?:, \.\.\.)?\]", text)
    about, bounds = _taken(one.about, BOUNDS)
    about, variable = _taken(about, re.compile(r"\$(\w+)"))
    about, other = _taken(about, re.compile(r"(--[\w-]+)"))
    joined = about.endswith(",...")
    kind = _kind(items[1] if items else text, bounds)
    optional = one.default is not REQUIRED
    if one.kind != "option":
        nargs = -1 if one.kind == "arguments" else 1
        required = not optional or nargs < 0
        return click.Argument(
            [one.name], type=kind, nargs=nargs, required=required, metavar=about or None,
            shell_complete=policy_names if one.help == "A policy." else None,
        )  # fmt: skip
    name = option_name(one.name, several=items is not None)
    names = [f"--{name}", *([SHORT[name]] if name in SHORT else []), *([other[1]] if other else [])]
    more: dict[str, Any] = {"help": one.help, "metavar": about or None}
    if name == "output":
        names = names[::-1]
    if text == "bool":
        return click.Option([*names, one.name], is_flag=True, help=one.help)
    if name in ("policy", "fallback"):
        more["shell_complete"] = policy_names
    if variable:
        more |= {"envvar": variable[1], "show_envvar": True}
    default = one.default if optional else None
    if joined:
        kind, default = Commas(), ",".join(default or ()) or None
    if optional:  # None would count as a value that was given
        more["default"] = default or None if items else default
    return click.Option(
        [*names, one.name], type=kind, required=not optional,
        multiple=items is not None and not joined,
        show_default=bool(default) and "[default:" not in one.help, **more,
    )  # fmt: skip


def _taken(text: str, pattern: re.Pattern[str]) -> tuple[str, re.Match[str] | None]:
    """A text without what a pattern finds in it, and that."""
    found = pattern.search(text)
    return (pattern.sub("", text).strip(), found) if found else (text, None)


def _kind(text: str, bounds: re.Match[str] | None) -> Any:
    if text.startswith("Literal["):
        return click.Choice(list(ast.literal_eval(text.removeprefix("Literal"))))
    if bounds is None:
        return KINDS.get(text, click.STRING) or click.STRING
    range_of: Any = click.IntRange if text == "int" else click.FloatRange
    if bounds[3]:
        return range_of(int(bounds[3]), int(bounds[4]))
    least = float(bounds[2]) if "." in bounds[2] else int(bounds[2])
    return range_of(min=least, min_open=bounds[1] == ">")
