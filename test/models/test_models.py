# SPDX-License-Identifier: MIT
"""Real trained models against their vectors. The models live beside the project (DNNCC_MODELS, default ../shared/models), not in
it: without that folder these tests are skipped."""
import json
import os
import pathlib
import re
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

MODELS = pathlib.Path(os.environ.get("DNNCC_MODELS", dnncc.ROOT.parent / "shared" / "models"))
REQUIRED = ["mnist_cnn", "super_resolution", "micro_kws_fp32", "resnet8_fp32", "yunet_face", "ncf_recommender", "cct2_vit",
            "magika_v3", "nanodet_m_320", "dscnn_kws_int8", "resnet8_int8", "micro_kws_qdq", "silero_vad"]
OF_TREES = ["xgboost_trees"]            # no layers: of what follows they have but the results


def bindings(folder):
    """--input options from shapes.txt: one 'name dtype shape' a line"""
    options = []
    for line in (folder / "shapes.txt").read_text().splitlines():
        name, _, shape = line.rsplit(None, 2)
        if shape != "scalar":
            options.append(f"--input={name}={shape}")
    return options


def allowed(folder, want):
    """|got - want| that SOURCE's tolerance line allows, per element"""
    text = (folder / "SOURCE").read_text()
    line = next(l for l in text.splitlines() if l.startswith("tolerance:"))
    if match := re.search(r"abs ([0-9.]+)", line):
        return np.full(want.shape, float(match.group(1)))
    if np.issubdtype(want.dtype, np.integer):
        return np.full(want.shape, 1.0)
    # Outputs of a sigmoid near 0: the vectors' runtime rounds them to multiples of 2^-24, three of which are allowed.
    return np.maximum(1e-3 * np.abs(want) + 1e-4 * np.max(np.abs(want), initial=0), 2e-7)


# whose C takes sanitizers long: 4 to 20 s
LARGE = {"super_resolution", "yunet_face", "ncf_recommender", "cct2_vit", "magika_v3", "nanodet_m_320", "silero_vad"}


@pytest.mark.parametrize("name, sanitized", [*((name, False) for name in REQUIRED + OF_TREES),
                                             *(pytest.param(name, True, marks=[pytest.mark.long] if name in LARGE else [])
                                               for name in REQUIRED + OF_TREES if name != "super_resolution")])
def test_model(name, sanitized):
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the models folder is absent")
    with dnncc.Workspace(name) as work:
        done = dnncc.compile_model(folder / "model.onnx", work, [*bindings(folder), "--stats"])
        ratio = float(re.search(r"live peak \d+ \(([0-9.]+)x\)", done.stderr).group(1))
        assert ratio <= 1.10, done.stderr
        if not sanitized:
            dnncc.check_clang(work)
        program = dnncc.build_host(work, dnncc.SANITIZE if sanitized else ["-O2"])
        for data in sorted(folder.glob("test_data_set_*")):
            count = len(list(data.glob("input_*.pb")))
            inputs = [dnncc.load_tensor(data / f"input_{k}.pb") for k in range(count)]
            for k, got in enumerate(dnncc.run_host(program, inputs)):
                want = dnncc.load_tensor(data / f"output_{k}.pb")
                assert got.shape == want.shape and got.dtype == want.dtype
                error = np.abs(got.astype(np.float64) - want.astype(np.float64))
                assert np.all(error <= allowed(folder, want)), f"output {k}: largest difference {error.max()}"


PARTS = 4


def parts(cases):
    """(case, part): all parts of a test of every stage; in the tier check each case has one of them, others than the next case's"""
    return [pytest.param(case, part, marks=[pytest.mark.long] if part != k % PARTS else []) for k, case in enumerate(cases) for part in range(PARTS)]


def restart(path, options, part, work):
    """print, parse, print is the identity after every pass, and a dump of any stage compiles to the same C: every fourth stage"""
    done = dnncc.compile_model(path, work, [*options, "--stats", f"--dump-dir={work / 'dumps'}"])
    assert float(re.search(r"live peak \d+ \(([0-9.]+)x\)", done.stderr).group(1)) <= 1.10, done.stderr
    c_text = (work / "model.c").read_text()
    dumps = sorted((work / "dumps").glob("*.dnn")) + sorted((work / "dumps").glob("*.loops"))
    assert len(dumps) >= PARTS
    for dump in dumps[part::PARTS]:
        emit = "ir" if dump.suffix == ".dnn" else "loops"
        again = work / "again" / dump.name
        again.parent.mkdir(exist_ok=True)
        done = dnncc.run([dnncc.DNNCC, dump, f"--emit={emit}", "-o", again, "--passes="])
        assert done.returncode == 0, done.stderr
        assert same_text(again) == same_text(dump), dump.name
        folder = work / ("c-" + dump.stem)
        folder.mkdir()
        dnncc.compile_model(dump, folder)
        assert (folder / "model.c").read_text() == c_text, dump.name


@pytest.mark.parametrize("target", ["generic", "x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("name", ["dscnn_kws_int8", "resnet8_int8", "micro_kws_qdq", "micro_kws_qoperator"])
@pytest.mark.sample(3)
def test_constants_of_quantized_models(name, target, tmp_path):
    """weights of 8 bits stay such"""
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the models folder is absent")
    dnncc.compile_model(folder / "model.onnx", tmp_path, [*bindings(folder), f"--target={target}", f"--report={tmp_path / 'report.json'}"])
    assert json.loads((tmp_path / "report.json").read_text())["constants"] <= 1.05 * (folder / "model.onnx").stat().st_size + (16 << 10)


@pytest.mark.sample(4)
@pytest.mark.parametrize("name, part", parts(REQUIRED))
def test_restart(name, part):
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip("the models folder is absent")
    with dnncc.Workspace(name + "-dumps") as work:
        restart(folder / "model.onnx", bindings(folder), part, work)


LIGHT = sorted((pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light").glob("*.onnx"))


@pytest.mark.sample(3)
@pytest.mark.parametrize("path, part", parts(LIGHT), ids=[f"{p.stem}-{part}" for p in LIGHT for part in range(PARTS)])
def test_restart_light(path, part):
    """the large networks of the onnx wheel; their weights are made in the graph and stay splats"""
    with dnncc.Workspace(path.stem + "-dumps") as work:
        restart(path, [], part, work)
        assert (work / "model.c").stat().st_size < 1_000_000


def same_text(path):
    """a dump without the name of the file its constants are in"""
    return path.read_text().replace(f'data "{path.name}.bin"', "data")


@pytest.mark.parametrize("name", [n for n in REQUIRED if "int8" not in n and "qdq" not in n])
@pytest.mark.sample(2)
def test_bf16(name):
    """within a tenth of the largest output, which is what a softmax or a sigmoid may make of roundings of 8 bits"""
    folder = MODELS / name
    processor.require("sapphirerapids")
    if not folder.is_dir():
        pytest.skip("the models folder is absent")
    with dnncc.Workspace(f"{name}-bf16") as work:
        dnncc.compile_model(folder / "model.onnx", work, [*bindings(folder), "--precision=bf16", "--target=sapphirerapids"])
        program = dnncc.build_host(work, ["-O2"])
        for data in sorted(folder.glob("test_data_set_*"))[:1]:
            inputs = [dnncc.load_tensor(data / f"input_{k}.pb") for k in range(len(list(data.glob("input_*.pb"))))]
            for k, got in enumerate(dnncc.run_host(program, inputs)):
                want = dnncc.load_tensor(data / f"output_{k}.pb").astype(np.float64)
                error = np.max(np.abs(got.astype(np.float64) - want), initial=0)
                assert error <= 0.1 * np.max(np.abs(want), initial=0), f"output {k}: largest difference {error}"
