# SPDX-License-Identifier: MIT
"""Completion in the shells themselves, as far as they are installed: keys are typed, and the line that came of them is read."""
import json
import os
import pathlib
import pty
import select
import shutil
import subprocess
import time

import dnncc
import onnx
import pytest
import terminal

ROOT = dnncc.ROOT
PATH = f"{pathlib.Path(dnncc.DNNCC).resolve().parent}:{os.environ['PATH']}"
BUILD = ROOT / "build"
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
BEGIN = {
    "bash": "PS1='> '; bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; source {files[0]}; source {files[1]}",
    "zsh": "PS1='> '; fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -d {folder}/dump; bindkey -e; unsetopt zle_bracketed_paste 2>/dev/null",
}
TARGETS = [line.split()[0] for line in dnncc.run([dnncc.DNNCC, "--target=help"]).stdout.splitlines() if line.strip()]

# typed, and what it becomes
CASES = [
    ("dnncc --prec", ["--precision="]),
    ("dnncc --precision=b", ["--precision=bf16"]),
    ("dnncc --precision b", ["--precision", "bf16"]),
    ("dnncc --if-c", ["--if-changed"]),
    ("dnncc --target=zen5,sapph", ["--target=zen5,sapphirerapids"]),
    ("dnncc --limit wino", ["--limit", "winograd_percent="]),
    ("dnncc --observer=ent", ["--observer=entropy"]),
    ("dnncc --quantize-steps=-awq,-func", ["--quantize-steps=-awq,-functions"]),
    ("dnncc --passes=+fold_b", ["--passes=+fold_batch_norms"]),
    ("dnncc --print-ir-after=byte_w", ["--print-ir-after=byte_weights"]),
    ("dnncc --quantize=dyn", ["--quantize=dynamic"]),
    ("dnncc --info=j", ["--info=json"]),
    ("dnncc --schedule=a", ["--schedule=a.schedule"]),
    ("dnncc -o x.c net", ["-o", "x.c", "net.onnx"]),
    ("dnncc --calibrate=sam", ["--calibrate=samples/"]),
    ("dnncc --run=sam", ["--run=samples/"]),
    # names of the model that is on the line
    ("dnncc net.onnx --dim b", ["net.onnx", "--dim", "batch="]),
    ("dnncc net.onnx --dim=b", ["net.onnx", "--dim=batch="]),
    ("dnncc net.onnx --input pict", ["net.onnx", "--input", "picture="]),
    ("dnncc net.onnx --output cla", ["net.onnx", "--output", "class"]),
    ("dnncc net.onnx --keep mid", ["net.onnx", "--keep", "middle"]),
    ("dnncc net.onnx --quantize-port=pic", ["net.onnx", "--quantize-port=picture="]),
    ("dnncc net.onnx --keep-float=fir", ["net.onnx", "--keep-float=first"]),
    ("dnncc net.onnx --keep-float=fla", ["net.onnx", "--keep-float=flat"]),
    ("dnncc net.onnx --explain cur", ["net.onnx", "--explain", "curve"]),
    ("dnncc net.onnx --explain od", ["net.onnx", "--explain", "odd $(touch owned) name"]),
]


VTA_CASES = [
    ("dnncc-vta ass", ["assemble"]),
    ("dnncc-vta run --poi", ["run", "--poison="]),
    ("dnncc-vta run pro", ["run", "program.vta"]),
    ("dnncc-vta dump -o net", ["dump", "-o", "net."]),
    ("dnncc-vta --help=j", ["--help=json"]),
]


@pytest.fixture(scope="module")
def files():
    """what make install installs"""
    made = subprocess.run(["make", "-C", ROOT, *(f"build/completion{p}.{s}" for p in ("", "-vta") for s in SHELLS | {"fish": 0})], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


@pytest.fixture
def folder(tmp_path):
    node, port = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    nodes = [node("Relu", ["picture"], ["middle"], "curve"), node("Flatten", ["middle"], ["flat"], "odd $(touch owned) name"), node("Relu", ["flat"], ["class"], "last one")]
    graph = onnx.helper.make_graph(nodes, "g", [port("picture", 1, ["batch", 3, 4])], [port("class", 1, ["batch", 12])])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    for name in ("net.txt", "a.schedule", "program.vta", "out"):
        (tmp_path / name).write_text("")
    (tmp_path / "samples").mkdir()
    (tmp_path / "out").unlink()
    return tmp_path


class Terminal:
    """an interactive shell"""

    def __init__(self, shell, folder):
        if not shutil.which(shell):
            pytest.skip(f"no {shell}")
        terminal.require()
        self.folder = folder
        place = folder / ".completion"
        place.mkdir()
        files = [place / ("_dnncc" if shell == "zsh" else "dnncc.bash"), place / ("_dnncc-vta" if shell == "zsh" else "dnncc-vta.bash")]
        for part, file in zip(("", "-vta"), files):
            shutil.copy(BUILD / f"completion{part}.{shell}", file)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(TERM="dumb", HISTFILE="", HOME=str(place), PATH=PATH)
            os.execvp(SHELLS[shell][0], SHELLS[shell])
        self.type(BEGIN[shell].format(files=files, folder=place) + "; : > ready\r", "ready")

    def type(self, text, wanted):
        """until a file is there"""
        os.write(self.fd, text.encode())
        end, said = time.monotonic() + 60, b""
        while not (self.folder / wanted).exists():
            assert time.monotonic() < end, said.decode(errors="replace")
            if select.select([self.fd], [], [], 0.05)[0]:
                said += os.read(self.fd, 65536)

    def complete(self, line):
        """the words of a line after a tab"""
        out = self.folder / "out"
        out.unlink(missing_ok=True)
        # to the line's begin, a command that writes its words down
        self.type(line + "\t" + "\x01" + "printf '%s\\n' > out.new \x05 ; mv out.new out\r", "out")
        return out.read_text().splitlines()[1:]

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_typed(shell, files, folder):
    terminal = Terminal(shell, folder)
    try:
        for line, want in CASES + VTA_CASES:
            got = terminal.complete(line)
            assert got == want or (shell == "zsh" and got == [w.rstrip("=/") for w in want]), line       # which takes = and / back when nothing follows
        assert not (folder / "owned").exists()
    finally:
        terminal.close()


def fish(line, folder):
    done = subprocess.run(["fish", "--no-config", "-c", f"source {BUILD / 'completion.fish'}; source {BUILD / 'completion-vta.fish'}; complete -C '{line}'"], capture_output=True,
                          text=True, cwd=folder, env={**os.environ, "HOME": str(folder), "PATH": PATH})
    assert done.returncode == 0 and not done.stderr, done.stderr
    return [candidate.partition("\t")[0] for candidate in done.stdout.splitlines()]


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish")
def test_fish(files, folder):
    for line, want in CASES + VTA_CASES:
        if "-awq" in line or "+fold" in line:       # of signs in lists fish knows nothing
            continue
        candidates = fish(line, folder)
        assert any(c.startswith(want[-1].rstrip("=")) for c in candidates), (line, candidates)
    assert "--target=x86-64,zen5" in fish("dnncc --target=x86-64,z", folder)


def test_every_option_and_value_is_offered(files, folder):
    """in bash, by the function itself"""
    def offered(*words):
        typed = " ".join(f"'{w}'" for w in words)
        code = f"source {BUILD / 'completion.bash'}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _dnncc; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        return subprocess.run(["bash", "-c", code], capture_output=True, text=True, cwd=folder).stdout.split("\n")[:-1]
    rows = json.loads(dnncc.run([dnncc.DNNCC, "--help=json"]).stdout)["options"]
    assert {o.rstrip("=") for o in offered("dnncc", "-")} == {row["option"].partition("=")[0] for row in rows}
    for row in rows:
        if row["kind"] == "CHOICE":
            assert offered("dnncc", row["option"], "=", "") == row["argument"].split("|") == offered("dnncc", row["option"], "=")
        elif row.get("argument") in ("FILE", "PATH"):
            assert set(offered("dnncc", row["option"], "=", "")) >= {"net.txt", "samples"}, row
        elif row.get("argument") == "DIR":
            assert set(offered("dnncc", row["option"], "")) == {"samples"}
        elif "help lists" in row["doc"] and row["option"] != "--passes":
            assert "help" in offered("dnncc", row["option"], "=", "h"), row
    assert set(TARGETS) <= set(offered("dnncc", "--target", "=", ""))
    assert set(offered("dnncc", "--exact", "")) == {"net.onnx", "samples"} == set(offered("dnncc", "")) == set(offered("dnncc", "--quantize", ""))
