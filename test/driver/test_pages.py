# SPDX-License-Identifier: MIT
"""The documents as pages (make site): all of them, no link that leads nowhere, a search that finds, versions beside each other."""
import re
import shutil

import dnncc
import pytest

PYTHON = dnncc.ROOT / "build" / "site-venv" / "bin" / "python"
LINK = re.compile(r"\[(?:[^\[\]`]|`[^`]*`)*\]\(([^)\s#:]*)(?:#([^)\s]*))?\)")


def tracked(*patterns):
    done = dnncc.run(["git", "-C", dnncc.ROOT, "ls-files", *patterns])
    if done.returncode:
        pytest.skip("no repository")
    return done.stdout.split()


def anchors(text):
    """of a document's headings, as GitHub and the pages have them"""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in re.findall(r"^#+ (.*)", text, re.M)}


def test_links():
    """each leads to a file, or folder, that there is, and to a heading that it has"""
    lost, count = [], 0
    for name in tracked("*.md"):
        page = dnncc.ROOT / name
        for place, anchor in LINK.findall(re.sub(r"^(```|    ).*$", "", page.read_text(), flags=re.M)):
            to = page.parent / place if place else page
            count += 1
            if not to.exists() or (anchor and to.suffix == ".md" and anchor not in anchors(to.read_text())):
                lost.append(f"{name}: {place}{'#' + anchor if anchor else ''}")
    assert count > 300 and not lost, "links that lead nowhere:\n" + "\n".join(lost)


@pytest.mark.long
@pytest.mark.skipif(not PYTHON.exists(), reason="no Sphinx: make site")
def test_pages(tmp_path):
    older = tmp_path / "0.0.9"
    older.mkdir()
    (older / "index.html").write_text("")
    done = dnncc.run([PYTHON, dnncc.ROOT / "docs" / "pages.py", "--out", tmp_path], timeout=300)
    assert done.returncode == 0 and not done.stderr, done.stderr
    version = re.search(r'DNNCC_VERSION "(.*)"', (dnncc.ROOT / "compiler" / "options.h").read_text())[1]
    choice, pages = (tmp_path / "index.html").read_text(), tmp_path / version
    assert f"url={version}/index.html" in choice and choice.index(f'href="{version}/') < choice.index('href="0.0.9/')
    for name in [name for name in tracked("*.md") if "/" in name and not name.startswith("test/")]:
        text = (pages / name.replace(".md", ".html")).read_text()
        title = re.search(r"^# (.*)", (dnncc.ROOT / name).read_text(), re.M)[1]
        assert "Search" in text and re.search(rf"<h1>.*{re.escape(title.split()[-1].strip('`'))}", text), name
    first = (pages / "index.html").read_text()
    assert 'href="docs/user-guide.html#from-c"' in first and 'href="docs/benchmarks.html"' in first
    for page in pages.rglob("*.html"):
        places = re.findall(r'(?:href|src)="([^":#?]+)["#?]', page.read_text())
        lost = [place for place in places if not (page.parent / place).exists()]
        assert not lost, (page, lost)
    if shutil.which("chromium"):
        done = dnncc.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=20000", "--dump-dom",
                          f"{(pages / 'search.html').as_uri()}?q=winograd"])
        assert re.search(r'matching the search query.*href="docs/user-guide.html', done.stdout), done.stdout[-2000:]
