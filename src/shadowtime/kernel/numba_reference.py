"""What Numba takes a tuple that is passed on by its address for (reference.py).

Its fields are read where they are used. They never change while an entry runs, which is told to the
compiler, so that it reads each at most once however many arrays are written meanwhile.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.types.containers import NamedTuple, NamedUniTuple
from numba.core.types.misc import unliteral
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import models, register_model, type_callable

from shadowtime.kernel.reference import by_reference


class Reference(types.Type):
    """The address of a named tuple."""

    def __init__(self, tables: Any) -> None:
        self.tables = tables
        super().__init__(name=f"reference({tables})")


@register_model(Reference)
class ReferenceModel(models.PrimitiveModel):
    """A pointer to its fields."""

    def __init__(self, dmm: Any, kind: Reference) -> None:
        super().__init__(dmm, kind, dmm.lookup(kind.tables).get_value_type().as_pointer())


@type_callable(by_reference)
def type_of_reference(context: Any) -> Any:
    """The address of a named tuple has a type of its own."""

    def typer(tables: Any) -> Any:
        named = isinstance(tables, NamedTuple | NamedUniTuple)
        return Reference(tables) if named else None

    return typer


@lower_builtin(by_reference, NamedTuple)
@lower_builtin(by_reference, NamedUniTuple)
def make_reference(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Lay the fields down for as long as the function that does so runs.

    Without an instruction that the optimiser cannot look into, it would be free to move reads of
    what never changes before the writes here.
    """
    place = cgutils.alloca_once_value(builder, values[0])
    same = ir.FunctionType(place.type, [place.type])
    return builder.asm(same, "", "=r,0,~{memory}", [place], side_effect=True)


@infer_getattr
class Fields(AttributeTemplate):
    """Types of the fields."""

    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:
        """The type of one of them."""
        if name in reference.tables.fields:
            return reference.tables[reference.tables.fields.index(name)]
        return None


@lower_getattr_generic(Reference)
def read_field(context: Any, builder: Any, kind: Reference, value: Any, name: str) -> Any:
    """Read a field, part by part."""
    return _read(builder, cgutils.gep_inbounds(builder, value, 0, kind.tables.fields.index(name)))


def _read(builder: Any, place: Any) -> Any:
    kind = place.type.pointee
    if not isinstance(kind, ir.LiteralStructType | ir.ArrayType):
        found = builder.load(place)
        found.set_metadata("invariant.load", builder.module.add_metadata([]))
        return found
    made = ir.Constant(kind, ir.Undefined)
    count = kind.count if isinstance(kind, ir.ArrayType) else len(kind.elements)
    for at in range(count):
        part = _read(builder, cgutils.gep_inbounds(builder, place, 0, at))
        made = builder.insert_value(made, part, at)
    return made


def for_all_constants(dispatcher: Any) -> Any:
    """Compile a function of references once, not for each constant that it is called with."""
    by_types = dispatcher.get_call_template

    def get_call_template(arguments: Any, named: Any) -> Any:
        if any(isinstance(each, Reference) for each in arguments):
            arguments = tuple(unliteral(each) for each in arguments)
        return by_types(arguments, named)

    dispatcher.get_call_template = get_call_template
    return dispatcher
