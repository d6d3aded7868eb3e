"""The grammar of policy texts: ``name(key=value, ...)``, values nested at will.

Examples
--------
>>> parse_call("easy(reserve=4, order=weighted(wait=0.1))")
Call(name='easy', arguments={'reserve': Call(name='4', arguments={}), 'order': \
Call(name='weighted', arguments={'wait': Call(name='0.1', arguments={})})})
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from shadowtime.errors import PolicyError

TOKEN = re.compile(r"\s*([A-Za-z0-9_.+/:@\-]+|[(),=])")


@dataclass(frozen=True)
class Call:
    """A name with named arguments; a plain value is a call without any."""

    name: str
    arguments: dict[str, Call] = field(default_factory=dict)


def parse_call(text: str) -> Call:
    """Parse a whole policy text."""
    tokens = _tokens(text)
    call, rest = _call(tokens, text)
    if rest:
        raise PolicyError(f"cannot read {rest[0]!r} behind the policy in {text!r}")
    return call


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    while at < len(text.rstrip()):
        found = TOKEN.match(text, at)
        if found is None:
            raise PolicyError(
                f"cannot read the policy {text!r} from {text[at:]!r} on; "
                "write it as name(key=value, ...)"
            )
        tokens.append(found.group(1))
        at = found.end()
    return tokens


def _call(tokens: list[str], text: str) -> tuple[Call, list[str]]:
    if not tokens or tokens[0] in "(),=":
        raise PolicyError(f"a name is missing in the policy {text!r}: write name(key=value, ...)")
    name, rest = tokens[0], tokens[1:]
    if rest[:1] != ["("]:
        return Call(name), rest
    arguments: dict[str, Call] = {}
    rest = rest[1:]
    while rest[:1] != [")"]:
        if len(rest) < 3 or rest[1] != "=":
            raise PolicyError(f"parameters of {name} must be key=value in the policy {text!r}")
        key = rest[0].replace("-", "_")
        if key in arguments:
            raise PolicyError(f"the parameter {key} is given twice in the policy {text!r}")
        arguments[key], rest = _call(rest[2:], text)
        if rest[:1] == [","]:
            rest = rest[1:]
        elif rest[:1] != [")"]:
            raise PolicyError(f"a closing parenthesis is missing in the policy {text!r}")
    return Call(name, arguments), rest[1:]
