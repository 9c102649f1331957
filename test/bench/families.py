# SPDX-License-Identifier: MIT
"""families.py FOLDER [COUNT]: writes FOLDER/NAME.onnx, the smallest member of every family of classification networks that torchvision has, in
alphabetical order, then of timm's families that torchvision lacks, in the same order, until there are COUNT (40) that the exporter takes.

For a Python that has torch, torchvision, timm and onnx (pip install them; dnncc itself needs none of these). Weights are random, statistics of batch norms those of
noise, so that numbers stay ordinary; what is there already stays. Then

    bench.py --models=FOLDER/alexnet.onnx,FOLDER/convnext_tiny.onnx,..."""
import pathlib
import sys
import warnings

import timm
import torch
import torchvision

# of torchvision's families; the rest of timm's modules is compared by their parameters
TORCHVISION = {"alexnet": "alexnet", "convnext": "convnext_tiny", "densenet": "densenet121", "efficientnet": "efficientnet_b0", "efficientnet_v2": "efficientnet_v2_s",
               "googlenet": "googlenet", "inception": "inception_v3", "maxvit": "maxvit_t", "mnasnet": "mnasnet0_5", "mobilenet_v2": "mobilenet_v2",
               "mobilenet_v3": "mobilenet_v3_small", "regnet_x": "regnet_x_400mf", "regnet_y": "regnet_y_400mf", "resnet": "resnet18", "resnext": "resnext50_32x4d",
               "shufflenet_v2": "shufflenet_v2_x0_5", "squeezenet": "squeezenet1_1", "swin": "swin_t", "swin_v2": "swin_v2_t", "vgg": "vgg11", "vit": "vit_b_16",
               "wide_resnet": "wide_resnet50_2"}
SAME = {"alexnet", "convnext", "densenet", "efficientnet", "inception_v3", "maxxvit", "mobilenetv3", "regnet", "resnet", "swin_transformer", "swin_transformer_v2", "vgg",
        "vision_transformer"}                           # timm's modules of these families
OPTIONS = {"googlenet": {"aux_logits": False, "init_weights": True}, "inception_v3": {"aux_logits": False, "init_weights": True}}
CALIBRATING, OPSET = 4, 17                              # images of noise, twice


def smallest(module):
    """the name of a module's smallest network, or None"""
    sizes = {}
    for name in timm.list_models(module=module):
        try:
            with torch.device("meta"):
                sizes[name] = sum(p.numel() for p in timm.create_model(name).parameters())
        except Exception:  # noqa: BLE001, S112    some want other arguments
            continue
    return min(sizes, key=sizes.get) if sizes else None


def candidates():
    for name in TORCHVISION.values():
        yield name, lambda name=name: (torchvision.models.get_model(name, weights=None, **OPTIONS.get(name, {})), 299 if name == "inception_v3" else 224)
    for module in sorted(set(timm.list_modules()) - SAME):
        name = smallest(module)
        if name:
            def made(name=name):
                network = timm.create_model(name)
                return network, network.default_cfg.get("input_size", (3, 224, 224))[1]
            yield f"timm_{name}", made


def export(network, size, path):
    torch.manual_seed(0)
    network.train()
    for part in network.modules():
        if isinstance(part, torch.nn.Dropout):
            part.eval()
    with torch.no_grad():
        for _ in range(2):
            network(torch.randn(CALIBRATING, 3, size, size))
    network.eval()
    part = path.with_suffix(".part")
    torch.onnx.export(network, (torch.randn(1, 3, size, size),), str(part), dynamo=False, opset_version=OPSET, input_names=["x"], output_names=["y"])
    part.rename(path)


def main(folder, count=40):
    warnings.filterwarnings("ignore")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for name, made in candidates():
        if written == int(count):
            break
        path = folder / f"{name}.onnx"
        try:
            if not path.exists():
                export(*made(), path)
            written += 1
            print(f"{written:3} {path}", flush=True)
        except Exception as error:  # noqa: BLE001    what the exporter does not take is left out
            print(f"  - {name}: {type(error).__name__}: {str(error).splitlines()[0][:120]}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
