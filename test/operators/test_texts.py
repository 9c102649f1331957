# SPDX-License-Identifier: MIT
"""Random texts through every operator that takes them, against onnxruntime (Python's re for patterns), as C for two targets and interpreted."""
import pathlib
import random
import re
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

NUMBERS = {TensorProto.STRING: object, TensorProto.INT64: np.int64, TensorProto.FLOAT: np.float32, TensorProto.BOOL: np.bool_}
ALPHABETS = ["abAB ", "aàÀbßÿŸ", "жЖдД щЩ", "αΑςσΣ", "日本 語", "😀𐐀𐐨a", "aȺⱥİıſKk-.,", "\t a\u00a0\u3000b"]
DRAWS = range(30)


def text(rng, most=12, bytes_most=63):
    letters = rng.choice(ALPHABETS)
    drawn = "".join(rng.choice(letters) for _ in range(rng.choice([0, 1, 2, rng.randrange(most + 1), most])))
    while len(drawn.encode()) > bytes_most:
        drawn = drawn[:-1]
    return drawn


def texts(rng, shape, **options):
    return np.array([text(rng, **options) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)


def model_of(nodes, inputs, outputs, initializers=(), ml=3, contrib=1):
    ports = [[helper.make_tensor_value_info(n, e, s) for n, e, s in p] for p in (inputs, outputs)]
    graph = helper.make_graph(nodes if isinstance(nodes, list) else [nodes], "texts", *ports, list(initializers))
    return helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", ml), helper.make_opsetid("com.microsoft", contrib)])


def words(name, values, shape=None):
    return helper.make_tensor(name, TensorProto.STRING, shape or [len(values)], [v.encode() for v in values])


def reference(model, arrays):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip((i.name for i in session.get_inputs()), arrays)))


def compiled(model, folder, options=(), flags=("-O1",)):
    onnx.save(model, folder / "m.onnx")
    dnncc.compile_model(folder / "m.onnx", folder, options)
    return dnncc.build_host(folder, list(flags))


def interpreted(folder, arrays, options=()):
    data = folder / "data"
    data.mkdir(exist_ok=True)
    for k, array in enumerate(arrays):
        array = np.asarray(array)
        if array.dtype == object:
            array = array.astype(str) if k % 2 else np.char.encode(array.astype(str), "utf-8")
        np.save(data / f"input_{k}.npy", array)
    done = dnncc.run([dnncc.DNNCC, folder / "m.onnx", f"--run={data}", "-q", *options])
    assert done.returncode == 0, done.stderr
    got = [np.load(data / f"output_{k}.npy") for k in range(len(list(data.glob("output_*.npy"))))]
    return [np.char.decode(g, "utf-8").astype(object) if g.dtype.kind == "S" else g for g in got]


def same(got, want, what):
    assert len(got) == len(want)
    for a, b in zip(got, want):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape, (a.shape, b.shape, what)
        assert (np.allclose(a, b, rtol=1e-5, atol=1e-6) if b.dtype.kind == "f" else np.array_equal(a, b)), (a, b, what)


def check(folder, model, draws, want=None, options=()):
    """draws: lists of arrays; of the first few the interpreter, too"""
    want = want or (lambda arrays: reference(model, arrays))
    for target, flags in (("generic", dnncc.SANITIZE), ("x86-64-v3", ["-O1", "-mavx2", "-mfma"])):
        place = folder / target
        place.mkdir()
        program = compiled(model, place, [f"--target={target}", *options], flags)
        for arrays in draws:
            same(dnncc.run_host(program, arrays), want(arrays), (target, arrays))
    for arrays in draws[:2]:
        same(interpreted(folder / "generic", arrays, options), want(arrays), ("interpreted", arrays))


S, I64, F32 = TensorProto.STRING, TensorProto.INT64, TensorProto.FLOAT


@pytest.mark.slow
def test_concat_and_equal(tmp_path):
    rng = random.Random(1)
    nodes = [helper.make_node("StringConcat", ["x", "y"], ["z"]), helper.make_node("Equal", ["z", "w"], ["e"])]
    model = model_of(nodes, [("x", S, [2, 3]), ("y", S, [3]), ("w", S, [2, 1])], [("z", S, [2, 3]), ("e", TensorProto.BOOL, [2, 3])])
    draws = []
    for _ in DRAWS:
        x, y = texts(rng, (2, 3)), texts(rng, (3,))
        draws.append([x, y, np.array([[x[k, 0] + y[0]] for k in range(2)] if rng.random() < .7 else [[text(rng)], [""]], dtype=object)])
    full = "é" * 31 + "a"              # as many bytes as there is room for
    draws.append([np.full((2, 3), full, object), np.full(3, full, object), np.full((2, 1), "a", object)])
    check(tmp_path, model, draws)


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("action", ["LOWER", "UPPER"])
def test_case(tmp_path, action):
    rng = random.Random(2)
    model = model_of(helper.make_node("StringNormalizer", ["x"], ["y"], case_change_action=action), [("x", S, [40])], [("y", S, [40])])

    def want(arrays):                  # one letter for one letter, where Python may have several
        change = str.lower if action == "LOWER" else str.upper
        simple = {"İ": "i"} if action == "LOWER" else {"ß": "ß", "ŉ": "ŉ"}
        return [np.array(["".join(simple.get(c) or change(c) for c in t) for t in arrays[0]], dtype=object)]
    every = [chr(c) for c in range(0x80, 0x20000) if not 0xd800 <= c < 0xe000 and len(chr(c).lower()) == len(chr(c).upper()) == 1]
    draws = [[texts(rng, (40,))] for _ in DRAWS]
    draws += [[np.array(["".join(rng.choice(every) for _ in range(12)) for _ in range(40)], dtype=object)] for _ in range(10)]
    letters = [c for c in every if c.lower() != c or c.upper() != c]
    letters += [letters[0]] * (-len(letters) % 600)
    draws += [[np.array(["".join(letters[600 * k + 15 * i:600 * k + 15 * i + 15]) for i in range(40)], dtype=object)]
              for k in range(len(letters) // 600)]
    check(tmp_path, model, draws, want)


@pytest.mark.sample(4, each=False)
@pytest.mark.slow
@pytest.mark.parametrize("sensitive", [0, 1])
@pytest.mark.parametrize("rank", [1, 2])
def test_stop_words(tmp_path, sensitive, rank):
    rng = random.Random(3)
    stops = ["Monday", "a", "жук", "日"]
    kept = 4
    shape = [1, 7] if rank == 2 else [7]
    model = model_of(helper.make_node("StringNormalizer", ["x"], ["y"], is_case_sensitive=sensitive, case_change_action="UPPER", stopwords=stops),
                     [("x", S, shape)], [("y", S, [1, kept] if rank == 2 else [kept])])
    draws = []
    for _ in DRAWS:
        x = [rng.choice(["tuesday", "b", "Жуки", "日本", "mondays"]) for _ in range(kept)]
        x += [rng.choice(stops if sensitive else stops + ["MONDAY", "A", "Жук"]) for _ in range(3)]
        rng.shuffle(x)
        draws.append([np.array(x, dtype=object).reshape(shape)])

    def want(arrays):
        fold = (lambda t: t) if sensitive else str.lower
        left = [t.upper() for t in arrays[0].reshape(-1) if fold(t) not in {fold(s) for s in stops}]
        return [np.array(left, dtype=object).reshape([1, kept] if rank == 2 else [kept])]
    check(tmp_path, model, draws, want)


@pytest.mark.sample(14, each=False)
@pytest.mark.parametrize("delimiter", [None, "", " ", ",", "aa", "aba", "é"])
@pytest.mark.parametrize("most", [None, 0, 1, 2])
def test_split(tmp_path, delimiter, most):
    rng = random.Random(f"{delimiter} {most}")
    letters = (delimiter or " \t\u00a0") + "abé"
    attributes = {} if delimiter is None else {"delimiter": delimiter}
    attributes |= {} if most is None else {"maxsplit": most}
    draws = [[np.array(["".join(rng.choice(letters) for _ in range(rng.randrange(11))) for _ in range(6)], dtype=object)] for _ in DRAWS]
    parts = 12

    def want(arrays):
        # The parts of numpy's reference; the model declares more than any text has.
        lists = [t.split(delimiter or None, -1 if most is None else most) for t in arrays[0]]
        return [np.array([p + [""] * (parts - len(p)) for p in lists], dtype=object), np.array([len(p) for p in lists])]
    model = model_of(helper.make_node("StringSplit", ["x"], ["y", "n"], **attributes), [("x", S, [6])], [("y", S, [6, parts]), ("n", I64, [6])])
    check(tmp_path, model, draws, want)


def test_split_into_too_many(tmp_path):
    model = model_of(helper.make_node("StringSplit", ["x"], ["y", "n"], delimiter=","), [("x", S, [1])], [("y", S, [1, 2]), ("n", I64, [1])])
    program = compiled(model, tmp_path)
    assert [g.tolist() for g in dnncc.run_host(program, [np.array(["a,b"], object)])] == [[["a", "b"]], [2]]
    with pytest.raises(AssertionError, match="returned -[34]"):
        dnncc.run_host(program, [np.array(["a,b,c"], object)])


PATTERNS = [
    r"www\.[\w.-]+\.\bcom\b", r"(\W|^)[\w.\-]{0,25}@(yahoo|gmail)\.com(\W|$)", r"[a-zA-Z]+\d{2,4}", r"(ab|a)(bc|c)?", r"a*b+c?", r"(a|b)*abb", r"",
    r"[^a-c]*", r"(?i)straße|kelvin", r"日本?語*", r".{3}", r"(?s).{3}", r"[а-яА-Я]+", r"\x{1F600}+|\x41", r"a{3}", r"(a{1,3}){2}", r"(|a)+b", r"^a$", r"\bab\b.*",
    r"a\Bb", r"[[:alpha:]]+[[:^digit:]]", r"\Qa.b\E+", r"(?P<n>a)(?:b)(c)", r"a??b*?", r"[\d\-x]+", r"\A(a|b)\z", r"[^\n]*é.*", r"((((a?)?)?)?)?b", r"[]a]+", r"(?i:aB)c",
    r"a{,2}", r"(?m)^a$\n?", r"[\x00-\x7f]+", r"(?i)[^k]+", r"\101\t?", r"x*(y*z*)*", r"a|b|", r"[^\W\d]+", r"(?i)\w\W?",
]


def in_python(pattern):
    """the pattern as Python's re has it"""
    pattern = re.sub(r"\\x\{(\w+)\}", lambda m: re.escape(chr(int(m[1], 16))), pattern)
    pattern = pattern.replace(r"\z", r"\Z").replace(r"\Qa.b\E", r"a\.b").replace("[[:alpha:]]", "[a-zA-Z]").replace("[[:^digit:]]", "[^0-9]")
    pattern = pattern.replace("a{,2}", r"a\{,2\}")
    for sort, inside in (("w", "a-zA-Z0-9_"), ("d", "0-9")):
        pattern = re.sub(rf"\\{sort}(?=[^\[]*\])", inside, pattern)
        pattern = pattern.replace(f"\\{sort}", f"[{inside}]")
    return pattern.replace(r"[^\Wa-zA-Z0-9_]", "[A-Za-z_]").replace(r"[^\W0-9]+", "[A-Za-z_]+").replace(r"\W", "[^a-zA-Z0-9_]")


SAMPLES = ["", "a", "b", "ab", "abb", "abc", "aab", "aaa", "aaaa", "abcc", "a.b", "a.bb", "a-b", "日本語", "日語語", "😀😀", "A", "Я", "привет", "é", "abé", "x1-2", "ab12", "ab12345", "]a]",
           "STRASSE", "straße", "STRAßE", "kelvin", "\u212aELVIN", "a\nb", "a\n", "ab cd", "\na", "www.google.com", "www.abcd.com.", "account@gmail.com", "x@yahoo.com", "aBc", "ABc", "abz", "yzzy", "A\t",
           "a{,2}", "a\u0131", "k", "K", "xyzzy"]


@pytest.mark.sample(8)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_pattern(tmp_path, pattern):
    rng = random.Random(pattern)
    model = model_of(helper.make_node("RegexFullMatch", ["x"], ["y"], pattern=pattern), [("x", S, [8, 10])], [("y", TensorProto.BOOL, [8, 10])])
    letters = [c for c in pattern if c.isalnum()] or ["a"]
    drawn = SAMPLES + ["".join(rng.choice(letters + list("ab1. @é日")) for _ in range(rng.randrange(8))) for _ in range(80 - len(SAMPLES))]
    draws = [[np.array(drawn, dtype=object).reshape(8, 10)]]
    expression = in_python(pattern)

    def want(arrays):
        return [np.array([[re.fullmatch(expression, t) is not None for t in row] for row in arrays[0]])]
    if pattern in (r"(?i)\w\W?", r"(?i)[^k]+", r"(?i)straße|kelvin", r"\bab\b.*", r"a\Bb", r"[\x00-\x7f]+", r"www\.[\w.-]+\.\bcom\b"):
        check(tmp_path, model, draws)          # Python folds other letters, and has other words than RE2
    else:
        check(tmp_path, model, draws, want)
        same(want(draws[0]), reference(model, draws[0]), pattern)


@pytest.mark.slow
def test_random_patterns(tmp_path):
    """thirty alternatives at a time, in one model each"""
    rng = random.Random(5)

    def drawn(depth):
        kind = rng.randrange(7 if depth else 3)
        if kind < 2:
            return rng.choice("abé")
        if kind == 2:
            return rng.choice(["[ab]", "[^a]", ".", "[b-é]"])
        if kind == 3:
            return drawn(depth - 1) + drawn(depth - 1)
        if kind == 4:
            return f"({drawn(depth - 1)}|{drawn(depth - 1)})"
        return f"({drawn(depth - 1)})" + rng.choice(["*", "+", "?", "{2}", "{1,3}", "{0,2}"])
    patterns = [drawn(4) for _ in range(40)]
    nodes = [helper.make_node("RegexFullMatch", ["x"], [f"y{k}"], pattern=p) for k, p in enumerate(patterns)]
    model = model_of(nodes, [("x", S, [60])], [(f"y{k}", TensorProto.BOOL, [60]) for k in range(len(patterns))])
    x = np.array(["".join(rng.choice("abéc") for _ in range(rng.randrange(7))) for _ in range(60)], dtype=object)
    check(tmp_path, model, [[x]], lambda arrays: [np.array([re.fullmatch(p, t) is not None for t in arrays[0]]) for p in patterns], ["--text-bytes=16"])


@pytest.mark.parametrize("pattern,code,words_of_it", [
    ("(", 3, "a group has no \\)"), ("a**", 3, "repeated"), ("[b-a]", 3, "backward"), ("\\8", 3, "no such escape"), ("(?<=a)b", 3, "flag"), ("*a", 3, "nothing to repeat"), ("a)", 3, "closes no group"), ("{2}", 3, "nothing to repeat"),
    (r"\pL", 4, "Unicode"), ("(((a{1000}){1000}){1000})", 4, "more than"), ("((((){1000}){1000}){1000}){1000}", 4, "more than"), (".*a.{20}", 4, "automaton_states"), ("(" * 300 + ")" * 300, 4, "nest"),
])
def test_patterns_refused(tmp_path, pattern, code, words_of_it):
    onnx.save(model_of(helper.make_node("RegexFullMatch", ["x"], ["y"], pattern=pattern), [("x", S, [1])], [("y", TensorProto.BOOL, [1])]), tmp_path / "m.onnx")
    with pytest.raises(dnncc.CompileError, match=words_of_it) as error:
        dnncc.compile_model(tmp_path / "m.onnx", tmp_path, timeout=30)
    assert error.value.code == code


@pytest.mark.sample(4)
@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, 40, 3000])
def test_labels(tmp_path, count):
    rng = random.Random(count)
    keys = list(dict.fromkeys(text(rng, 20) + str(k) * (k % 3) for k in range(count)))
    values = [rng.randrange(-1000, 1000) for _ in keys]
    names = [text(rng) for _ in keys]
    nodes = [helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_strings=keys, values_int64s=values, default_int64=77),
             helper.make_node("LabelEncoder", ["x"], ["f"], domain="ai.onnx.ml", keys_strings=keys, values_floats=[v / 8 for v in values]),
             helper.make_node("LabelEncoder", ["x"], ["s"], domain="ai.onnx.ml", keys_strings=keys, values_strings=names, default_string="none é"),
             helper.make_node("LabelEncoder", ["i"], ["t"], domain="ai.onnx.ml", keys_int64s=list(range(len(keys))), values_strings=names),
             helper.make_node("CategoryMapper", ["x"], ["c"], domain="ai.onnx.ml", cats_strings=keys, cats_int64s=[3 * k - 9 for k in range(len(keys))], default_int64=-5),
             helper.make_node("CategoryMapper", ["i"], ["d"], domain="ai.onnx.ml", cats_strings=keys, cats_int64s=[k * k % 1009 + k for k in range(len(keys))][::-1], default_string="?")]
    shape = [2, 5]
    model = model_of(nodes, [("x", S, shape), ("i", I64, shape)], [("y", I64, shape), ("f", F32, shape), ("s", S, shape), ("t", S, shape), ("c", I64, shape), ("d", S, shape)], ml=2)
    draws = [[np.array([rng.choice(keys) if rng.random() < .6 else rng.choice(keys) + rng.choice(["x", " "]) if rng.random() < .5 else text(rng) for _ in range(10)], dtype=object).reshape(shape),
              np.array([[rng.randrange(-2, len(keys) + 2) for _ in range(5)] for _ in range(2)], dtype=np.int64)] for _ in DRAWS]
    check(tmp_path, model, draws, options=["--text-bytes=96"])


@pytest.mark.slow
def test_moves(tmp_path):
    """Operators that move elements move texts."""
    rng = random.Random(7)
    node = helper.make_node
    nodes = [node("Reshape", ["x", "flat"], ["r"]), node("Transpose", ["x"], ["t"], perm=[1, 0]), node("Concat", ["x", "k"], ["c"], axis=0), node("Gather", ["x", "at"], ["g"], axis=1),
             node("Slice", ["x", "from", "to", "axes"], ["s"]), node("Unsqueeze", ["x", "from"], ["u"]), node("Squeeze", ["u"], ["q"]), node("Expand", ["k", "wide"], ["e"]),
             node("Where", ["b", "x", "k"], ["w"]), node("Split", ["x", "parts"], ["p0", "p1"], axis=1), node("Identity", ["x"], ["i"]), node("Shape", ["x"], ["n"]), node("Tile", ["k", "wide"], ["m"]),
             node("Flatten", ["u"], ["f"]), node("ArrayFeatureExtractor", ["x", "at"], ["a"], domain="ai.onnx.ml"), node("GatherElements", ["x", "each"], ["h"], axis=1), node("Size", ["x"], ["z"])]
    numbers = [onnx.numpy_helper.from_array(np.array(v, np.int64), n) for n, v in
               (("flat", [3, 2]), ("from", [0]), ("to", [2]), ("axes", [1]), ("wide", [2, 3]), ("parts", [1, 2]))]
    model = model_of(nodes, [("x", S, [2, 3]), ("at", I64, [2]), ("b", TensorProto.BOOL, [2, 1]), ("each", I64, [2, 2])],
                     [("r", S, [3, 2]), ("t", S, [3, 2]), ("c", S, [3, 3]), ("g", S, [2, 2]), ("s", S, [2, 2]), ("u", S, [1, 2, 3]), ("q", S, [2, 3]), ("e", S, [2, 3]), ("w", S, [2, 3]),
                      ("p0", S, [2, 1]), ("p1", S, [2, 2]), ("i", S, [2, 3]), ("n", I64, [2]), ("m", S, [2, 9]), ("f", S, [1, 6]), ("a", S, [2, 2]), ("h", S, [2, 2]), ("z", I64, [])],
                     [*numbers, words("k", ["é", "", "a constant that is longer"], [1, 3])])
    draws = [[texts(rng, (2, 3)), np.array([rng.randrange(3), rng.randrange(3)], np.int64), np.array([[rng.random() < .5], [rng.random() < .5]]),
              np.array([[rng.randrange(3) for _ in range(2)] for _ in range(2)], np.int64)] for _ in DRAWS]
    check(tmp_path, model, draws)


def test_interface(tmp_path):
    """What run makes of texts that are too long, and of pointers to nothing."""
    model = model_of(helper.make_node("Identity", ["x"], ["y"]), [("x", S, [2])], [("y", S, [2])])
    onnx.save(model, tmp_path / "m.onnx")
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, ["--text-bytes=x=4"])
    (tmp_path / "main.c").write_text(r'''
#include "model.h"
#include <string.h>
int main(void)
{
        MODEL_WORKSPACE_DEFINE(workspace);
        static char y[MODEL_Y_ELEMS][MODEL_Y_BYTES];
        const char *fits[] = { "abc", "" }, *longer[] = { "a", "abcd" }, *none[] = { "a", NULL };
        memset(y, 'z', sizeof y);
        if (model_run(workspace, longer, y[0]) != MODEL_ERROR_TEXT || model_run(workspace, none, y[0]) != MODEL_ERROR_NULL ||
            model_run(workspace, NULL, y[0]) != MODEL_ERROR_NULL || y[0][0] != 'z')
                return 1;
        return model_run(workspace, fits, y[0]) || strcmp(y[0], "abc") || strcmp(y[1], "");
}
''')
    done = dnncc.run(["gcc", *dnncc.SANITIZE, *dnncc.STRICT, "-I", tmp_path, tmp_path / "model.c", tmp_path / "main.c", "-o", tmp_path / "main"])
    assert done.returncode == 0, done.stderr
    assert dnncc.run([tmp_path / "main"]).returncode == 0


@pytest.mark.parametrize("nodes,outputs,code,words_of_it", [
    (helper.make_node("Relu", ["x"], ["y"]), [("y", S, [2])], 3, "want numbers"),
    (helper.make_node("Equal", ["x", "i"], ["y"]), [("y", TensorProto.BOOL, [2])], 3, "want texts"),
    (helper.make_node("StringConcat", ["x", "i"], ["y"]), [("y", S, [2])], 3, "want texts"),
    (helper.make_node("StringNormalizer", ["x"], ["y"], stopwords=["a"]), [("y", S, ["n"])], 4, "how many texts are left"),
])
def test_refused(tmp_path, nodes, outputs, code, words_of_it):
    onnx.save(model_of(nodes, [("x", S, [2]), ("i", I64, [2])], outputs), tmp_path / "m.onnx")
    with pytest.raises(dnncc.CompileError, match=words_of_it) as error:
        dnncc.compile_model(tmp_path / "m.onnx", tmp_path)
    assert error.value.code == code


def padded(rows, parts, pad):
    return np.concatenate([rows, np.full((*rows.shape[:-1], parts - rows.shape[-1]), pad, object)], -1)


TOKENIZERS = [
    dict(tokenexp="[a-zA-Z0-9_]+", mincharnum=1), dict(tokenexp="[^ ]+", mincharnum=2), dict(tokenexp=r"\w\w+|é+", mincharnum=1, mark=1), dict(separators=[" "], mincharnum=1),
    dict(separators=[" ", ",", "é"], mincharnum=2, mark=1), dict(separators=["ab+"], mincharnum=1), dict(separators=[""], mincharnum=1), dict(tokenexp="ab|abb|b", mincharnum=1),
]


@pytest.mark.sample(8, each=False)
@pytest.mark.parametrize("attributes", TOKENIZERS, ids=str)
@pytest.mark.parametrize("rank", [1, 2])
def test_tokenizer(tmp_path, attributes, rank):
    rng = random.Random(str(attributes))
    node = helper.make_node("Tokenizer", ["x"], ["y"], domain="com.microsoft", pad_value="<é>", **{"mark": 0, **attributes})
    shape, parts = ([4] if rank == 1 else [2, 2]), 14
    model, open_model = (model_of(node, [("x", S, shape)], [("y", S, [*shape, p])]) for p in (parts, "n"))
    draws = [[np.array(["".join(rng.choice("ab é,B日") for _ in range(rng.randrange(11))) for _ in range(4)], dtype=object).reshape(shape)] for _ in DRAWS]
    draws = [d for d in draws if reference(open_model, d)[0].shape[-1] > 2]          # without any token onnxruntime leaves out the marks, too
    check(tmp_path, model, draws, lambda arrays: [padded(reference(open_model, arrays)[0], parts, "<é>")])


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
def test_ngrams(tmp_path, mode):
    rng = random.Random(mode)
    vocabulary = ["a", "b", "é", "日本", "ab"]
    pairs = [(a, b) for a in vocabulary[:3] for b in vocabulary]
    pool = vocabulary + [t for pair in pairs for t in pair]
    count = len(vocabulary) + len(pairs)
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], mode=mode, min_gram_length=1, max_gram_length=2, max_skip_count=1, ngram_counts=[0, len(vocabulary)],
                            ngram_indexes=rng.sample(range(count), count), pool_strings=pool, weights=[rng.random() + .5 for _ in range(count)])
    model = model_of(node, [("x", S, [3, 8])], [("y", F32, [3, count])])
    draws = [[np.array([rng.choice([*vocabulary, "", "c", "aé"]) for _ in range(24)], dtype=object).reshape(3, 8)] for _ in DRAWS]
    check(tmp_path, model, draws)


@pytest.mark.slow
def test_ngrams_of_a_large_pool(tmp_path):
    """texts and numbers, searched for"""
    rng = random.Random(9)
    vocabulary = sorted({text(rng) for _ in range(300)} | {f"w{k}" for k in range(150)})
    pairs = list(dict.fromkeys((rng.choice(vocabulary), rng.choice(vocabulary[:20])) for _ in range(120)))
    count = len(vocabulary) + len(pairs)
    common = dict(mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=1, ngram_counts=[0, len(vocabulary)], ngram_indexes=list(range(count)))
    number = {t: 7 * k for k, t in enumerate(vocabulary)}
    pool = vocabulary + [t for pair in pairs for t in pair]
    nodes = [helper.make_node("TfIdfVectorizer", ["x"], ["y"], pool_strings=pool, **common), helper.make_node("TfIdfVectorizer", ["i"], ["z"], pool_int64s=[number[t] for t in pool], **common)]
    model = model_of(nodes, [("x", S, [2, 9]), ("i", I64, [2, 9])], [("y", F32, [2, count]), ("z", F32, [2, count])])
    draws = []
    for _ in DRAWS:
        x = [t for _ in range(9) for t in (rng.choice(pairs) if rng.random() < .7 else (rng.choice(vocabulary), "none of them"))]
        draws.append([np.array(x, dtype=object).reshape(2, 9), np.array([number.get(t, rng.choice([-1, -7, 3, 1 << 40])) for t in x], np.int64).reshape(2, 9)])
    check(tmp_path, model, draws)


@pytest.mark.slow
def test_class_labels_and_categories(tmp_path):
    rng = np.random.default_rng(1)
    names = ["Katze", "Hündin", "日", "", "a longer one"]
    label = helper.make_node("LinearClassifier", ["f"], ["c", "p"], domain="ai.onnx.ml", classlabels_strings=names, coefficients=rng.normal(size=15).tolist(),
                             intercepts=rng.normal(size=5).tolist(), multi_class=1, post_transform="SOFTMAX")
    hot = helper.make_node("OneHotEncoder", ["x"], ["h"], domain="ai.onnx.ml", cats_strings=names[:3], zeros=1)
    model = model_of([label, hot], [("f", F32, [4, 3]), ("x", S, [2, 2])], [("c", S, [4]), ("p", F32, [4, 5]), ("h", F32, [2, 2, 3])])
    check(tmp_path, model, [[rng.normal(size=(4, 3)).astype(np.float32), np.array(rng.choice(names + ["Katz"], 4).tolist(), dtype=object).reshape(2, 2)] for _ in DRAWS])
