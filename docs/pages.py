# SPDX-License-Identifier: MIT
"""The documents as pages: build/site/VERSION, static, with search; a folder for each version that was made, and build/site/index.html,
which leads to the newest. By Sphinx and MyST, which read Markdown (make site).

    pages.py [--out build/site]

README.md is the first page. Links to files of the project lead to copies of these; what a folder is linked for says its README.md."""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# the order of the contents; a document that is in none of them is an error of Sphinx
PARTS = {
    "Using dnncc": ["docs/user-guide", "docs/tutorial", "docs/quantization", "docs/memory", "docs/schedules", "docs/many-machines", "docs/questions", "docs/interface"],
    "Targets": ["docs/arm", "docs/riscv", "docs/gpu", "docs/accelerators", "docs/misra", "docs/adding-a-target"],
    "Measured": ["docs/benchmarks", "docs/operators", "docs/compile-time", "docs/conformance"],      # and docs/measurements/
    "Inside": ["docs/architecture", "docs/glossary", "docs/ir", "docs/remarks", "docs/rates", "docs/adding", "CONTRIBUTING", "CHANGELOG"],
    "Rooms": [],                                                        # the README.md and other pages of folders of code
    "Examples": ["examples/README"],
}
OF_FOLDERS = {"Measured": "docs/measurements/", "Rooms": ""}
LINK = re.compile(r"\[((?:[^\[\]`]|`[^`]*`)*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")
CONF = """project, author, version = "dnncc", "dnncc", "{version}"
release, root_doc = version, "index"
extensions, html_theme, html_title = ["myst_parser"], "furo", "dnncc {version}"
myst_heading_anchors, highlight_language = 6, "none"
html_copy_source, html_show_sphinx = False, False
"""
CHOICE = """<!DOCTYPE html>
<meta charset="utf-8"><title>dnncc</title><meta http-equiv="refresh" content="0; url={newest}/index.html">
<p>Versions of these pages: {links}</p>
"""


def version():
    return re.search(r'DNNCC_VERSION "(.*)"', (ROOT / "compiler" / "options.h").read_text())[1]


def documents():
    names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [name for name in names if not name.startswith("test/")]


def of_folder(part):
    """what stands in a part because of its folder; rooms: each page beside code"""
    if part not in OF_FOLDERS:
        return []
    rest = [name[:-len(".md")] for name in documents() if "/" in name and not name.startswith("examples/")]
    return [name for name in rest if name.startswith(OF_FOLDERS[part]) and (part != "Rooms" or not name.startswith("docs/"))]


def leads_to(link, document):
    """a link of a document as the pages have it; files that it leads to; None: to the folder itself, which has no page"""
    target = (ROOT / document).parent / link
    if target.is_dir():
        return (link.rstrip("/") + "/README.md", None) if (target / "README.md").exists() else (None, None)
    path = target.resolve().relative_to(ROOT)
    if path == pathlib.Path("README.md"):
        return link[:-len("README.md")] + "index.md", None
    return link, path if path.suffix != ".md" and target.exists() else None


def page(document, source):
    """the text of a document with its links, what they lead to beside it"""
    text = (ROOT / document).read_text()

    def changed(match):
        link, copied = leads_to(match[2], document)
        if copied:
            (source / copied).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / copied, source / copied)
        return f"[{match[1]}]({link}{match[3] or ''})" if link else match[1]
    return LINK.sub(changed, text)


def contents():
    lists = [f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n:caption: {part}\n\n" + "\n".join(names + of_folder(part)) + "\n```\n"
             for part, names in PARTS.items()]
    return "\n" + "\n".join(lists)


def stage(source):
    shutil.rmtree(source, ignore_errors=True)
    for name in documents():
        to = source / ("index.md" if name == "README.md" else name)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(page(name, source) + (contents() if name == "README.md" else ""))
    # programs of the gallery are in no list but the one of examples/README.md
    gallery = sorted(name[len("examples/"):-len(".md")] for name in documents() if re.fullmatch(r"examples/\w+/README.md", name))
    with (source / "examples" / "README.md").open("a") as index:
        index.write("\n```{toctree}\n:hidden:\n\n" + "\n".join(gallery) + "\n```\n")
    (source / "conf.py").write_text(CONF.format(version=version()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "site")
    out = parser.parse_args().out
    source, to = out / ".source", out / version()
    stage(source)
    code = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-b", "html", "-d", out / ".trees", source, to]).returncode
    if code == 0:
        made = sorted((p.name for p in out.iterdir() if (p / "index.html").exists()), key=lambda v: [int(n) for n in re.findall(r"\d+", v)])
        links = " ".join(f'<a href="{name}/index.html">{name}</a>' for name in reversed(made))
        (out / "index.html").write_text(CHOICE.format(newest=made[-1], links=links))
        print(f"{to}/index.html")
    return code


if __name__ == "__main__":
    sys.exit(main())
