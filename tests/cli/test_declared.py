"""A command's options are the parameters of its function: same names, same defaults."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from importlib import import_module

import click
import pytest

import shadowtime
from shadowtime.cli import app
from shadowtime.cli.common.declared import REQUIRED, Group, option_name
from shadowtime.cli.common.lazy import FunctionCommand


def commands(command: click.Command, *path: str) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, *path, name)


MADE = {name: made for name, made in commands(app) if isinstance(made, FunctionCommand)}
"""The commands that are made from a function, by name."""


def test_most_commands_are_made_from_functions() -> None:
    assert len(MADE) > 5


@pytest.mark.parametrize("name", MADE)
def test_options_are_the_parameters_of_the_function(name: str) -> None:
    """What is read from the source is what Python has: every name and every default."""
    made = MADE[name]
    found = inspect.signature(getattr(import_module(made.module), made.function)).parameters
    read = {one.name: one for one in MADE[name].declared}
    extra = {n for n, one in found.items() if one.kind is one.VAR_KEYWORD}
    for parameter in found.values():
        if parameter.name in extra:
            continue
        one = read[parameter.name]
        if isinstance(one, Group):
            group = getattr(import_module(one.module), one.type)
            known = {field.name: field.default for field in dataclasses.fields(group)}
            assert {each.name: each.default for each in one.options}.items() <= known.items()
        else:
            required = parameter.default is parameter.empty
            assert one.default == (REQUIRED if required else parameter.default)
    assert extra or read.keys() == found.keys()


@pytest.mark.parametrize("name", MADE)
def test_every_option_is_named_after_its_parameter_and_has_help(name: str) -> None:
    for one in MADE[name].params:
        assert one.name is not None
        if isinstance(one, click.Option):
            several = one.multiple or one.type.name == "commas"
            assert f"--{option_name(one.name, several=several)}" in one.opts
            assert one.help


PUBLIC = {
    "simulate": 2,
    "compare": 7,
    "tune": 9,
    "paper": 3,
    "sweep run": 2,
    "whatif": 18,
    "replay": 5,
}
"""Commands whose work a public function does, and how many keywords both have."""


@pytest.mark.parametrize("name", PUBLIC)
def test_a_command_and_the_public_function_of_its_name_agree(name: str) -> None:
    """``shadowtime tune`` and ``st.tune``: what both have has one default."""
    public = inspect.signature(getattr(shadowtime, name.split()[0])).parameters
    given = {each.name: each.default for one in MADE[name].declared for each in one.options}
    both = [one for one in public.values() if one.kind is one.KEYWORD_ONLY and one.name in given]
    assert len(both) >= PUBLIC[name], sorted(given)
    for one in both:
        assert given[one.name] == (REQUIRED if one.default is one.empty else one.default), one.name
