"""Compile one recorded function to an object file with a C interface.

    python distribution/library/compile.py RECORD NAME OBJECT    # NAME as in the record

Prints what the list of the library says of it, as JSON. The code is for any processor of the
architecture (BASELINE), whatever the machine that builds it can do.
"""

from __future__ import annotations

import json
import os
import pickle
import platform
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

BASELINE = {"x86_64": "x86-64-v2", "aarch64": "generic"}
os.environ["NUMBA_CPU_NAME"] = BASELINE.get(platform.machine(), "generic")
os.environ["NUMBA_CPU_FEATURES"] = ""
os.environ["SHADOWTIME_PREBUILT"] = "no"

import llvmlite.binding as llvm  # noqa: E402
import numba  # noqa: E402
from fillers import fillers  # noqa: E402
from llvmlite import ir  # noqa: E402
from numba import types  # noqa: E402
from numba.core import cgutils  # noqa: E402
from numba.np.arrayobj import populate_array  # noqa: E402
from numba.np.numpy_support import as_dtype  # noqa: E402

import shadowtime.kernel.numba_reference  # noqa: E402, F401 (tells Numba of by_reference)
from shadowtime.kernel import jit  # noqa: E402
from shadowtime.kernel.columns import whole  # noqa: E402
from shadowtime.kernel.library import ALIGNED, CONTIGUOUS, WRITEABLE, name_of  # noqa: E402
from shadowtime.kernel.sources import code_digest  # noqa: E402

BYTES = ir.IntType(8).as_pointer()
WORD = ir.IntType(64)
FIELDS = ir.LiteralStructType([BYTES, ir.IntType(32), WORD.as_pointer(), WORD.as_pointer()])
"""Of a NumPy array, behind its head: data, dimensions, extents, strides."""


def leaves_of(kind: Any) -> list[list[Any]]:
    """The arguments of a type, tuples field by field, as the list names them."""
    if isinstance(kind, types.BaseTuple):
        return [leaf for each in kind for leaf in leaves_of(each)]
    if isinstance(kind, types.Array):
        flags = ALIGNED | (CONTIGUOUS if kind.layout == "C" else 0)
        flags |= WRITEABLE if kind.mutable else 0
        if kind.layout == "F":
            raise SystemExit(f"{kind}: arrays must be in C order or of any order")
        return [["array", elements_of(kind), kind.ndim, flags]]
    if isinstance(kind, types.FunctionType):
        return [["function", str(kind.signature)]]
    for name, family in (("bool", types.Boolean), ("int", types.Integer), ("float", types.Float)):
        if isinstance(kind, family):
            return [[name]]
    if kind is types.none:
        return [["none"]]
    raise SystemExit(f"{kind}: no such argument can be passed to the library")


def elements_of(kind: Any) -> str | list[str]:
    """What the list says of the elements of an array: their type, or the names of the columns."""
    if not isinstance(kind.dtype, types.Record):
        return str(kind.dtype).replace("boolean", "bool")
    found = as_dtype(kind.dtype)
    names = list(found.names or ())
    if found != whole(*names):
        raise SystemExit(f"{kind}: declare its columns with kernel.columns.whole")
    return names


class Slots:
    """Builds arguments from the array of slots, in the order of the leaves."""

    def __init__(self, context: Any, builder: Any, slots: Any) -> None:
        self.context, self.builder, self.slots, self.next = context, builder, slots, 0

    def word(self) -> Any:
        """The next slot."""
        at = self.builder.gep(self.slots, [ir.IntType(32)(self.next)])
        self.next += 1
        return self.builder.load(at)

    def value(self, kind: Any) -> Any:
        """An argument of this type."""
        context, builder = self.context, self.builder
        if isinstance(kind, types.BaseTuple):
            return context.make_tuple(builder, kind, [self.value(each) for each in kind])
        word = self.word()
        if isinstance(kind, types.Array):
            return self.array(kind, builder.inttoptr(word, FIELDS.as_pointer()))
        if isinstance(kind, types.FunctionType):
            made = cgutils.create_struct_proxy(kind)(context, builder)
            made.c_addr = builder.inttoptr(word, BYTES)
            made.py_addr = made.jit_addr = ir.Constant(BYTES, None)
            return made._getvalue()  # noqa: SLF001
        if isinstance(kind, types.Float):
            return builder.bitcast(word, ir.DoubleType())
        if kind is types.none:
            return context.get_dummy_value()
        return builder.trunc(word, ir.IntType(1)) if kind is types.boolean else word

    def array(self, kind: Any, fields: Any) -> Any:
        """An array from the fields of NumPy's object; nobody counts references to it."""
        builder = self.builder

        def field(k: int) -> Any:
            return builder.load(builder.gep(fields, [ir.IntType(32)(0), ir.IntType(32)(k)]))

        def words(pointer: Any) -> list[Any]:
            return [
                builder.load(builder.gep(pointer, [ir.IntType(32)(k)])) for k in range(kind.ndim)
            ]

        made = self.context.make_array(kind)(self.context, builder)
        data = builder.bitcast(field(0), self.context.get_data_type(kind.dtype).as_pointer())
        size = self.context.get_abi_sizeof(self.context.get_data_type(kind.dtype))
        populate_array(
            made,
            data=data,
            shape=words(field(2)),
            strides=words(field(3)),
            itemsize=WORD(size),
            meminfo=None,
        )
        return made._getvalue()  # noqa: SLF001


def wrapper(compiled: Any, symbol: str) -> Any:
    """LLVM code of ``int32 symbol(int64 *slots)``: 0 if the kernel returned."""
    context, about = compiled.target_context, compiled.fndesc
    module = ir.Module(symbol)
    module.triple, module.data_layout = llvm.get_process_triple(), context.codegen()._data_layout  # noqa: SLF001
    function = ir.Function(
        module, ir.FunctionType(ir.IntType(32), [WORD.as_pointer()]), name=symbol
    )
    builder = ir.IRBuilder(function.append_basic_block())
    slots = Slots(context, builder, function.args[0])
    arguments = [slots.value(kind) for kind in about.argtypes]
    callee = context.declare_function(module, about)
    status, result = context.call_conv.call_function(
        builder, callee, about.restype, about.argtypes, arguments
    )
    if about.restype is not types.none:
        if about.restype is types.boolean:
            result = builder.zext(result, WORD)
        builder.store(result, builder.gep(slots.slots, [ir.IntType(32)(slots.next)]))
    builder.ret(builder.zext(status.is_error, ir.IntType(32)))
    return module


def pointer_wrapper(compiled: Any, symbol: str) -> Any:
    """LLVM code of a function as kernels call it through a pointer: arguments by value."""
    context, about = compiled.target_context, compiled.fndesc
    module = ir.Module(symbol)
    module.triple, module.data_layout = llvm.get_process_triple(), context.codegen()._data_layout  # noqa: SLF001
    kinds = [context.get_value_type(kind) for kind in about.argtypes]
    returned = context.get_value_type(about.restype)
    function = ir.Function(module, ir.FunctionType(returned, kinds), name=symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    callee = context.declare_function(module, about)
    _, result = context.call_conv.call_function(
        builder, callee, about.restype, about.argtypes, function.args
    )
    builder.ret(result)
    return module


def object_code(compiled: Any, code: Any, symbol: str) -> bytes:
    """The wrapper linked with what Numba compiled, as position-independent code.

    Only the wrapper can be seen from outside; what it does not reach is dropped.
    """
    linked = llvm.parse_assembly(str(code))
    linked.link_in(compiled.library._get_module_for_linking(), preserve=True)  # noqa: SLF001
    for each in [*linked.functions, *linked.global_variables]:
        if each.name != symbol and not each.is_declaration:
            each.linkage = "internal"
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(
        cpu=os.environ["NUMBA_CPU_NAME"], opt=3, reloc="pic", codemodel="default"
    )
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(linked, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return bytes(machine.emit_object(linked))


def compiled_for(function: Any, kinds: Any) -> Any:
    """Numba's result for these types, without the wrappers through which Python would call it."""
    made = numba.njit(**(jit.OPTIONS | jit.INNER))(function)
    made.compile(kinds)
    return next(iter(made.overloads.values()))


def write_filler(name: str, target: str) -> dict[str, Any]:
    """Write the object file of the catalogue's functions in their slots; what the list says."""
    found = fillers()[name]
    signature = found.signature()
    # The options of engine/fillers.py: errors are raised, arrays may be made.
    made = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(found.make())
    made.compile(signature.args)
    compiled = next(iter(made.overloads.values()))
    symbol = symbol_of(name)
    Path(f"{target}.o").write_bytes(
        object_code(compiled, pointer_wrapper(compiled, symbol), symbol)
    )
    return {"digest": code_digest(*found.files), "symbol": symbol, "signature": str(signature)}


def symbol_of(name: str) -> str:
    """The symbol of a function in the library."""
    return "shadowtime_" + re.sub(r"\W+", "_", name)


def main(record: str, name: str, target: str) -> int:
    """Write the object files, print the list."""
    entries, pointers, listed = pickle.loads(Path(record).read_bytes())
    if name in listed:
        print(json.dumps({"fillers": {name: write_filler(name, target)}}))
        return 0
    module = (entries.get(name) or pointers.get(name))[0]
    function = getattr(import_module(module), name.rpartition(":")[2]).py_func
    path, _ = name_of(function)
    symbol = symbol_of(name)
    about: dict[str, Any] = {"digest": code_digest(path)}
    if name in pointers:
        signature = pointers[name][1]
        made = compiled_for(function, signature.args)
        Path(f"{target}.o").write_bytes(object_code(made, pointer_wrapper(made, symbol), symbol))
        about |= {"symbol": symbol, "signature": str(signature)}
    else:
        about["versions"] = []
        for number, kinds in enumerate(entries[name][1]):
            made = compiled_for(function, kinds)
            returns = {types.none: "void", types.int64: "int", types.boolean: "bool"}
            returned = types.unliteral(made.fndesc.restype)
            if returned not in returns:
                raise SystemExit(f"{name} returns {returned}: whole numbers only")
            each = f"{symbol}_{number}"
            Path(f"{target}-{number}.o").write_bytes(object_code(made, wrapper(made, each), each))
            about["versions"].append(
                {
                    "symbol": each,
                    "returns": returns[returned],
                    "leaves": [leaf for kind in kinds for leaf in leaves_of(kind)],
                }
            )
    print(json.dumps({"pointers" if name in pointers else "entries": {name: about}}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
