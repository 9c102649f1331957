# SPDX-License-Identifier: MIT
"""The convolutions of ResNet-18: cycles that were worked out by hand, and results as numpy has them."""
import re
import resource

import pytest

import cycle_model
from vta_convolution import Layer, Stream, file_of
from vta_tool import LOAD, SANITIZED, WGT, vta

# how often in ResNet-18, cycles, utilization, and that of the serial stream
WORKED = {
    "C2": (4, Layer(56, 64, 64, 3, 1, 1, (4, 14, 14)), 532662, 84.8, 68.8),
    "C3": (1, Layer(56, 64, 128, 3, 2, 1, (8, 7, 14)), 270035, 83.6, 61.5),
    "C4": (1, Layer(56, 64, 128, 1, 2, 0, (8, 7, 14)), 71457, 35.1, 22.5),
    "C5": (3, Layer(28, 128, 128, 3, 1, 1, (4, 7, 28)), 494137, 91.4, 74.3),
    "C6": (1, Layer(28, 128, 256, 3, 2, 1, (8, 7, 14)), 250713, 90.1, 64.7),
    "C7": (1, Layer(28, 128, 256, 1, 2, 0, (8, 7, 14)), 54207, 46.3, None),
    "C8": (3, Layer(14, 256, 256, 3, 1, 1, (4, 14, 14)), 475061, 95.1, 77.6),
    "C9": (1, Layer(14, 256, 512, 3, 2, 1, (8, 7, 7)), 241639, 93.4, 54.6),
    "C10": (1, Layer(14, 256, 512, 1, 2, 0, (16, 7, 7)), 43267, 58.0, None),
    "C11": (3, Layer(7, 512, 512, 3, 1, 1, (8, 7, 7)), 466849, 96.7, 57.8),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """of a layer and a number of contexts"""
    folder, made = tmp_path_factory.mktemp("layers"), {}

    def file(name, contexts=2):
        if (name, contexts) not in made:
            made[name, contexts] = folder / f"{name}_{contexts}.vta"
            made[name, contexts].write_bytes(file_of(Stream(WORKED[name][1], contexts)))
        return made[name, contexts]
    return file


def figures(file):
    """(cycles, utilization) as dnncc-vta says"""
    said = vta("cycles", file)
    return int(re.search(r"^cycles +(\d+)$", said, re.M)[1]), float(re.search(r"^utilization +([\d.]+) %$", said, re.M)[1])


@pytest.mark.parametrize("name", WORKED)
def test_worked_figures(files, name):
    _, layer, cycles, utilization, serial = WORKED[name]
    assert figures(files(name)) == (cycles, utilization)
    assert cycle_model.cycles(Stream(layer).instructions) == cycles
    in_turn, share = figures(files(name, 1))
    assert in_turn == cycle_model.cycles(Stream(layer, 1).instructions)
    assert serial is None or share == serial


def test_whole_network():
    streams = {name: Stream(layer) for name, (_, layer, *_) in WORKED.items()}
    assert sum(times for times, *_ in WORKED.values()) == 19
    assert sum(times * cycle_model.cycles(streams[name].instructions) for name, (times, *_) in WORKED.items()) == 7370107
    assert sum(times * len(streams[name].instructions) for name, (times, *_) in WORKED.items()) == 5557
    assert max(len(stream.uops) for stream in streams.values()) == 320


@pytest.mark.parametrize("contexts", [2, 1])
@pytest.mark.parametrize("name", WORKED)
def test_results(files, name, contexts):
    """as numpy, by every rule, whatever the order of stages and whatever memories held"""
    file = files(name, contexts)
    vta("check", file)
    for seed, poison in ((0, 165), (1, 0), (2, 255)) if contexts == 2 else ((3, 128),):
        vta("run", file, f"--seed={seed}", f"--poison={poison}")


def test_images(files, tmp_path):
    """all memory, not only what is expected"""
    file = files("C11")
    for seed, poison in ((0, 165), (7, 0)):
        vta("run", file, f"--seed={seed}", f"--poison={poison}", "-o", tmp_path / f"{seed}.image")
    one = (tmp_path / "0.image").read_bytes()
    assert one == (tmp_path / "7.image").read_bytes() and len(one) == int.from_bytes(file.read_bytes()[24:32], "little")
    assert not any(one[:4096]) and any(one[0x410000:])


def test_round_trip(files, tmp_path):
    """to text and back to the same bytes"""
    file = files("C10")
    text = tmp_path / "a.vta.s"
    vta("dump", file, "-o", text)
    vta("assemble", text)
    assert (tmp_path / "a.vta").read_bytes() == file.read_bytes()
    assert vta("dump", tmp_path / "a.vta") == text.read_text() == vta("dump", text)
    assert figures(text) == figures(file)
    assert re.search(r"gemm pop_prev push_prev uop=\d+,\d+ loop=7,7 dst=7,1 src=26,2", text.read_text())


@pytest.mark.skipif(SANITIZED, reason="sanitizers are slower")
def test_speed(files):
    """five million product steps a second, of processor time"""
    def spent():
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    times = []
    for _ in range(5):
        before = spent()
        vta("run", files("C2"))
        times.append(spent() - before)
    assert 451584 / min(times) > 5e6


def test_counts(files):
    said = vta("cycles", files("C2"), "--each")
    stream = Stream(WORKED["C2"][1])
    assert re.search(r"^product +64 +451584 +0 ", said, re.M) and re.search(r"^reset +16 +12544 ", said, re.M)
    assert re.search(r"^operation +64 +50176 ", said, re.M) and "bound by             array" in said
    weights = sum(i.x * i.y * 256 for i in stream.instructions if i.opcode == LOAD and i.memory == WGT)
    assert re.search(rf"^load wgt +64 +0 +{weights} ", said, re.M)
    assert len(re.findall(r"^ +\d+  (load|compute|store) ", said, re.M)) == len(stream.instructions)
