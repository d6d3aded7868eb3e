"""Compile the functions that only kernels call no further than their callers need.

Numba optimises every function by itself, makes machine code of it and keeps both. The optimised
form is what a caller inlines or links in; the machine code of a function that Python never calls is
never run. Leaving it out saves a sixth of the time to compile a pass, which runs as fast as before.

Functions that take tables by reference (reference.py) are called with little, so that many are not
inlined and calls go deep. At every depth Numba would optimise all that is below once more: they are
optimised once, inside their entry, which takes half the time and gives code as fast.
"""

from __future__ import annotations

from typing import Any

from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering

from shadowtime.kernel.numba_reference import Reference


class LinkedLibrary(JITCodeLibrary):
    """Code to be linked into that of a caller; it has no address of its own."""

    once = False
    """Optimise it inside its entry alone."""

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def enable_object_caching(self) -> None:
        """Nothing to keep: only entries are cached, with all that they call."""

    @property
    def codegen(self) -> Any:
        """What Numba asks to set the address of the function's constants, which has none here."""
        return _WithoutAddresses()

    def _optimize_final_module(self) -> None:
        """Optimise it, unless little optimisation is asked for: then once, inside its entry.

        With ``NUMBA_OPT=1`` a pass compiles in two thirds of the time and runs up to 40 % slower.
        """
        if int(config.OPT) > 1 and not self.once:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _WithoutAddresses:
    def set_env(self, env_name: str, env: Any) -> None:
        """Leave it: the caller's code does not read it, as it does not when loaded from a cache."""


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerToLink(NativeLowering):
    """Numba's lowering into a library that is only linked."""

    _name = "lower_to_link"

    def run_pass(self, state: Any) -> bool:
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.once = any(isinstance(each, Reference) for each in state.args)
        return bool(super().run_pass(state))


class InnerCompiler(CompilerBase):
    """Numba's own passes but for the last."""

    def define_pipelines(self) -> list[PassManager]:
        passes = PassManager("nopython, to link")
        for each, description in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            passes.add_pass(LowerToLink if each is NativeLowering else each, description)
        passes.finalize()
        return [passes]
