"""Policies: values made of parts, the catalogue, and how they are written.

The package itself can be called, ``shadowtime.policy("easy", reserve=4)``, as users of
``import shadowtime as st`` write it.
"""

import sys
from types import ModuleType
from typing import Any

from shadowtime.policy.catalogue import catalogue
from shadowtime.policy.parse import make_policy, parse_policy
from shadowtime.policy.policy import Policy

__all__ = ["Policy", "catalogue", "make_policy", "parse_policy"]


class _Callable(ModuleType):
    def __call__(self, text: Any, /, **parameters: Any) -> Any:
        return make_policy(text, **parameters)


sys.modules[__name__].__class__ = _Callable
