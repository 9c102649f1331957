# SPDX-License-Identifier: MIT
"""Dockerfile and action.yml where there is neither Docker nor GitHub: their commands, one after another, in fresh systems of debootstrap's."""
import re
import shlex
import shutil
import sys

import pytest

sys.path.insert(0, __file__.rpartition("/systems/")[0] + "/support")
import debian as system  # noqa: E402
import dnncc  # noqa: E402

ROOT = dnncc.ROOT
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
FAST = {"CFLAGS": "-O0"}                # the same programs, in a fourth of the time
pytestmark = [pytest.mark.long, pytest.mark.skipif(not system.can_make(), reason="no debootstrap, or no right to use it")]


class Stage:
    """of a Dockerfile: a system in a folder, and the folder in it where commands run"""

    def __init__(self, top, image):
        self.top, self.folder, self.entry = top, "/", None
        top.mkdir()
        if image != "scratch":
            assert image == "debian:12-slim"
            system.make(top, "slim", [])

    def place(self, path):
        """in this system, as a command of the Dockerfile names it"""
        inside = path if path.startswith("/") else f"{self.folder}/{path}"
        return self.top / inside.strip("/")

    def shell(self, command):
        return system.run(*system.command(self.top, command, self.folder), env={**system.environment(), **FAST})


def copy(source, to):
    """COPY: a folder's contents, or a file"""
    if source.is_dir():
        shutil.copytree(source, to, symlinks=True, dirs_exist_ok=True)
    else:
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, to)


def built(folder):
    """{name of a stage: Stage}"""
    stages, stage = {}, None
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.M)
    for word, rest in re.findall(r"^(\w+) (.*)$", text, re.M):
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            stage = stages[name] = Stage(folder / f"stage{len(stages)}", image)
        elif word == "WORKDIR":
            stage.folder = rest
            stage.place(rest).mkdir(parents=True, exist_ok=True)
        elif word == "COPY" and rest == ". .":
            system.copy_sources(stage.place("."))
        elif word == "COPY":
            where, source, to = re.fullmatch(r"--from=(\w+) (\S+) (\S+)", rest).groups()
            copy(stages[where].place(source), stage.place(to))
        elif word == "RUN":
            stage.shell(rest)
        else:
            assert word == "ENTRYPOINT", word
            stage.entry = shlex.join(re.findall(r'"([^"]*)"', rest))
    return stages


def test_dockerfile(tmp_path):
    """the file that stands alone, in a system that has nothing else; and dnncc with a compiler, which --bench and a program want"""
    stages = built(tmp_path)
    alone, whole = stages["alone"], stages[""]
    assert sorted(p.name for p in alone.top.iterdir()) == ["dnncc", "work"]
    here = tmp_path / "here.c"
    assert dnncc.run([dnncc.DNNCC, DIGITS, "-q", "--name=digits", "-o", here]).returncode == 0
    for stage in (alone, whole):
        shutil.copy(DIGITS, stage.place("digits.onnx"))
        system.run("chroot", stage.top, *shlex.split(stage.entry), "/work/digits.onnx", "-q", "--name=digits", "-o", "/work/here.c", env=system.environment())
        assert stage.place("here.c").read_text() == here.read_text()
    whole.shell(f"{whole.entry} digits.onnx -q --bench -o digits.c >bench.txt 2>&1 && test -s bench.txt")
    assert "dnncc_runtime.h" in whole.shell("ls /usr/local/include")


def steps():
    """[(environment, commands)] of action.yml, and its inputs with their defaults"""
    text = (ROOT / "action.yml").read_text()
    inputs = dict(re.findall(r'^  (\w+):\n    description: .*\n    default: "?([^"\n]*)"?$', text, re.M))
    found = []
    for step in text.partition("  steps:\n")[2].split("    - name: ")[1:]:
        values = dict(re.findall(r"^        (\w+): \$\{\{ inputs\.(\w+) \}\}$", step, re.M))
        found.append((values, "".join(line[8:] + "\n" for line in step.partition("run: |\n")[2].splitlines())))
    return found, inputs


def test_action(tmp_path):
    """its steps as a runner runs them: what one puts into PATH and the environment the next one has"""
    stage = Stage(tmp_path / "runner", "debian:12-slim")
    system.run(*system.command(stage.top, "apt-get install -y -qq make >/dev/null 2>&1", "/"), env=system.environment())      # a runner has it
    system.copy_sources(stage.top / "action")
    stage.folder = "/work"
    stage.place(".").mkdir()
    shutil.copy(DIGITS, stage.place("digits.onnx"))
    found, inputs = steps()
    assert len(found) == 2 and set(inputs) == {"model", "output", "options"}
    inputs.update(model="digits.onnx", output="made/digits.c", options="--target=x86-64-v3 -q")
    stage.place("made").mkdir()
    variables, path = {"GITHUB_ACTION_PATH": "/action", "RUNNER_TEMP": "/temp", "GITHUB_PATH": "/path", "GITHUB_ENV": "/env", **FAST}, []
    for k, (values, commands) in enumerate(found):
        (stage.top / "step.sh").write_text(commands)
        given = {**system.environment(), **variables, **{name: inputs[of] for name, of in values.items()}}
        given["PATH"] = ":".join([*path, given["PATH"]])
        system.run(*system.command(stage.top, "bash -e -o pipefail /step.sh", "/work"), env=given)
        if k == 0:
            path = (stage.top / "path").read_text().split()
            variables.update(line.split("=", 1) for line in (stage.top / "env").read_text().splitlines())
    assert "--target=x86-64-v3" in stage.place("made/digits.h").read_text()
    assert variables["CMAKE_PREFIX_PATH"] == "/temp/dnncc" and (stage.top / "temp/dnncc/lib/cmake/dnncc/dnncc-config.cmake").exists()
    assert (stage.top / variables["PKG_CONFIG_PATH"].strip("/") / "dnncc-runtime.pc").exists()
