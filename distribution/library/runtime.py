"""What compiled functions ask of Numba's runtime, as object code for the library.

Kernels allocate nothing. The catalogue's functions do (a table, an order): for them there is an
array's memory from malloc, with the head that Numba's code reads and counts references in.
"""

from __future__ import annotations

import llvmlite.binding as llvm
from llvmlite import ir

NEVER_CALLED = (
    "PyImport_ImportModule",
    "PyLong_AsVoidPtr",
    "PyObject_CallFunctionObjArgs",
    "PyObject_GetAttrString",
    "Py_DecRef",
    "numba_gil_ensure",
    "numba_gil_release",
    "numba_unpickle",
)
"""What Numba calls to find the address of a function that has none; ours all have one."""

WORD, SMALL, VOID = ir.IntType(64), ir.IntType(32), ir.VoidType()
HEAD = 48
"""Bytes of Numba's MemInfo: references, destructor and its argument, data, size, allocator."""


def runtime_code() -> bytes:
    """Object code; its functions are seen inside the library alone."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(reloc="pic")
    text = str(runtime_module()).replace("define ", "define hidden ")
    return bytes(machine.emit_object(llvm.parse_assembly(text)))


def runtime_module() -> ir.Module:
    """The functions, as LLVM's language has them."""
    module = ir.Module("runtime")
    module.triple = llvm.get_process_triple()
    stop = ir.Function(module, ir.FunctionType(VOID, ()), "llvm.trap")
    for name in NEVER_CALLED:
        builder = _body(module, VOID, (), name)
        builder.call(stop, ())
        builder.unreachable()
    _allocate(module)
    _free(module)
    return module


def _body(
    module: ir.Module, returns: ir.Type, takes: tuple[ir.Type, ...], name: str
) -> ir.IRBuilder:
    function = ir.Function(module, ir.FunctionType(returns, takes), name)
    return ir.IRBuilder(function.append_basic_block())


def _allocate(module: ir.Module) -> None:
    """``MemInfo *NRT_MemInfo_alloc_aligned(size, align)``: head and data in one piece, or null."""
    malloc = ir.Function(module, ir.FunctionType(WORD, (WORD,)), "malloc")
    builder = _body(module, WORD, (WORD, SMALL), "NRT_MemInfo_alloc_aligned")
    size, align = builder.function.args
    wide = builder.zext(align, WORD)
    head = builder.call(malloc, (builder.add(builder.add(size, wide), WORD(HEAD)),))
    with builder.if_then(builder.icmp_unsigned("==", head, WORD(0))):
        builder.ret(WORD(0))
    past = builder.add(builder.add(head, WORD(HEAD - 1)), wide)
    data = builder.and_(past, builder.neg(wide))
    words = builder.inttoptr(head, WORD.as_pointer())
    for at, value in enumerate((WORD(1), WORD(0), WORD(0), data, size, WORD(0))):
        builder.store(value, builder.gep(words, [SMALL(at)]))
    builder.ret(head)


def _free(module: ir.Module) -> None:
    """``void NRT_MemInfo_call_dtor(MemInfo *)``: the last reference is gone."""
    free = ir.Function(module, ir.FunctionType(VOID, (WORD,)), "free")
    builder = _body(module, VOID, (WORD,), "NRT_MemInfo_call_dtor")
    builder.call(free, builder.function.args)
    builder.ret_void()
