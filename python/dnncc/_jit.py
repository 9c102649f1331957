# SPDX-License-Identifier: MIT
"""Without a C compiler, or with cc="jit": libdnncc_jit compiles a model in this process, through LLVM (docs/jit.md). Its results
are those of the C for the same target, to the bit. dnncc keeps code in a folder of its own within the cache (--cache). Runs of
one model wait for each other."""
import ctypes
import os
import weakref

from . import _cache, _tool
from ._error import Error, of_compiler
from ._model import ABI, RUN, Description, Library, Model, share_threads

USAGE, UNSUPPORTED = 1, 4


class Failure(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 1000)]


WAYS = {"jit": "--jit", "jit=best": "--jit", "jit=fast": "--jit=fast"}         # cc= names them
opened = None


def library():
    """None: it is not there; built where LLVM's headers are"""
    global opened
    if opened is None:
        path = _tool.runtime("libdnncc_jit.so")
        share_threads()
        opened = ctypes.CDLL(path) if path else False
        if opened:
            opened.dnncc_load.restype = opened.dnncc_load_memory.restype = ctypes.c_void_p
            opened.dnncc_describe.restype = ctypes.POINTER(Description)
            opened.dnncc_describe.argtypes = opened.dnncc_free.argtypes = [ctypes.c_void_p]
    return opened or None


def way_of(origin):
    return WAYS.get(origin.given_options.get("cc"), "--jit")


def kept(cache):
    """the option that keeps code, where the folder is one that dnncc takes: this user's alone"""
    folder = os.path.join(_cache.folder(), "jit")
    try:
        if cache:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            made = os.stat(folder)
            return [f"--cache={folder}"] if made.st_uid == os.geteuid() and not made.st_mode & 0o022 else []
    except OSError:
        pass
    return []


def load(origin, cache):
    """the model's address"""
    given = [os.fsencode(a) for a in [*origin.arguments, way_of(origin), *kept(cache), *([] if origin.given("target") else ["--target=generic"])]]
    options, failure = (ctypes.c_char_p * (len(given) + 1))(*given, None), Failure()
    data = origin.source.data
    if data is None:
        made = library().dnncc_load(os.fsencode(origin.source.argument), options, ctypes.byref(failure))
    else:
        made = library().dnncc_load_memory(data, ctypes.c_size_t(len(data)), options, ctypes.byref(failure))
    if not made:
        raise of_compiler(failure.code, _tool.in_python(f"{'the model' if data is not None else origin.source.label()}: error: {failure.text.decode(errors='replace')}"))
    return made


class Jitted(Library):
    """dnncc_run(model, inputs, outputs, extents) is a library's run(regions, ...) with the model in place of regions."""

    def __init__(self, origin, cache):
        self.model = load(origin, cache)
        weakref.finalize(self, library().dnncc_free, self.model).atexit = False
        d = library().dnncc_describe(self.model).contents
        if d.abi != ABI or origin.given("entry"):       # what the library runs, but with one state for all callers
            raise Error(UNSUPPORTED, "cc=\"jit\" runs no models with state or several entries yet")
        self.prefix = d.name.decode()
        self.function = RUN(ctypes.cast(library().dnncc_run, ctypes.c_void_p).value)
        self.describe(d)
        self.weights, self.members, self.lengths = None, {}, []
        self.learn_extents(d)

    def new_lane(self):
        inputs, outputs, _, *more = super().new_lane()
        return inputs, outputs, self.model, *more


def compile_in_memory(origin, cache):
    program = Jitted(origin, cache)
    return Model(program, {"name": program.name, "command": f"dnncc {' '.join([*origin.arguments, way_of(origin)])}", "source": origin.source.digest,
                           "options": origin.arguments, "cc": "jit"}, None, origin)


def compile_where_it_can(origin, cache):
    """None: LLVM is not there, or does not run such a model yet"""
    if not library():
        return None
    try:
        return compile_in_memory(origin, cache)
    except Error as error:
        if error.code in (USAGE, UNSUPPORTED):       # options of the former kind are refused without --jit, too, or are of C
            return None
        raise


def compile_here(origin, cache):
    """with cc="jit" """
    if not library():
        raise Error(UNSUPPORTED, "cc=\"jit\" wants libdnncc_jit.so, which is built where LLVM's headers are")
    return compile_in_memory(origin, cache)
