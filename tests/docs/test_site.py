"""The built site: nothing is missing, nothing leads nowhere, nothing comes from elsewhere."""

import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import prorandconv
import prorandconv.lab

pytest.importorskip("zensical", reason="needs Zensical, of the extra docs")

pytestmark = pytest.mark.xdist_group("site")
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = [path for path in sorted(DOCS.rglob("*.md")) if not path.name.startswith("api")]
"""All but those that are made of docstrings."""
LEFT_OVER = re.compile(r"\]\[|^:::|:(?:class|data|func|meth|mod):`", re.MULTILINE)
"""What is left in a text where a cross-reference or a docstring was not found."""
STRUCTURE = {"h2", "h3", "img", "li", "pre", "table", "td"}
LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src"}
LOADED_BY_LINK = {"stylesheet", "icon", "preload", "modulepreload", "manifest"}


class Page(HTMLParser):
    """What HTML links, loads and can be linked by; its text without code, and its structure."""

    def __init__(self, html):
        super().__init__()
        self.anchors, self.links, self.loaded, self.text = set(), [], [], []
        self.structure = Counter()
        self._code = 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors.update(found[name] for name in ("id", "name") if found.get(name))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag == "link" and set(found["rel"].split()) & LOADED_BY_LINK:
            self.loaded.append(found["href"])
        if found.get(LOADED.get(tag)):
            self.loaded.append(found[LOADED[tag]])
        self.structure.update({tag} & STRUCTURE)
        self._code += tag in ("code", "pre", "script", "style")

    def handle_endtag(self, tag):
        self._code -= tag in ("code", "pre", "script", "style")

    def handle_data(self, data):
        if not self._code:
            self.text.append(data)


def elsewhere(url):
    return bool(urlsplit(url).netloc)


def missing(folder, pages):
    """Each link or file that a page asks for and that the folder does not have."""
    found = []
    for path, page in pages.items():
        for url in [*page.links, *page.loaded]:
            parts = urlsplit(url)
            if elsewhere(url) or parts.scheme in ("data", "mailto"):
                continue
            start = folder if parts.path.startswith("/") else path.parent
            target = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            there = target.is_file()
            if there and parts.fragment and target in pages:
                there = unquote(parts.fragment) in pages[target].anchors
            if not there:
                found.append(f"{path.relative_to(folder)}: {url}")
    return sorted(set(found))


def foreign(pages):
    """Each file that a page would load from another host."""
    return [url for page in pages.values() for url in page.loaded if elsewhere(url)]


def left_over(pages):
    """Each cross-reference or docstring that was not found."""
    texts = {path.name: "\n".join(page.text) for path, page in pages.items()}
    return [(name, found) for name, text in texts.items() for found in LEFT_OVER.findall(text)]


def read(folder):
    return {path: Page(path.read_text()) for path in folder.resolve().rglob("*.html")}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The site, built from a copy of what it is made of, and what the build printed."""
    copy = tmp_path_factory.mktemp("site")
    for name in ("docs", "src"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "zensical.toml", copy)
    done = subprocess.run(
        [sys.executable, "docs/site/build.py"],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return (copy / "site").resolve(), done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(built):
    return built[0]


@pytest.fixture(scope="module")
def pages(site):
    return read(site)


def test_docstrings_are_read_without_complaint(built):
    assert [line for line in built[1].splitlines() if line.startswith("griffe:")] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(DOCS)))
def test_page_has_the_lists_and_tables_that_a_forge_shows(site, document):
    markdown_it = pytest.importorskip("markdown_it", reason="needs markdown-it-py, of rich")
    forge = markdown_it.MarkdownIt("commonmark").enable("table").render(document.read_text())
    name = "index" if document.stem == "README" else document.stem
    page = (site / document.relative_to(DOCS)).with_name(f"{name}.html").read_text()
    article = page[page.index("<article") : page.index("</article>")]
    assert Page(article).structure == Page(forge).structure


def test_every_link_anchor_and_picture_is_there(site, pages):
    assert missing(site, pages) == []


def test_nothing_is_loaded_from_elsewhere(site, pages):
    assert foreign(pages) == []
    sheets = [path.read_text() for path in site.rglob("*.css")]
    assert sheets
    assert [
        url for sheet in sheets for url in re.findall(r"url\(\W?(?:https?:)?//[^)]+", sheet)
    ] == []


def test_every_cross_reference_is_resolved(pages):
    assert left_over(pages) == []


def test_api_page_links_roles_of_docstrings(site, pages):
    page = pages[site / "api.html"]
    assert "#prorandconv.ProRandConv.draw" in page.links
    assert "prorandconv.ProRandConv.forward" in page.anchors


@pytest.mark.parametrize(("page", "module"), [("api", prorandconv), ("api-lab", prorandconv.lab)])
def test_api_pages_have_every_public_name(site, pages, page, module):
    wanted = {f"{module.__name__}.{name}" for name in module.__all__ if name != "__version__"}
    assert wanted - pages[site / f"{page}.html"].anchors == set()


def test_checks_find_what_is_broken(tmp_path):
    (tmp_path / "index.html").write_text(
        '<h1 id="top">[Name][prorandconv.Nothing]</h1><a href="#top">fine</a>'
        '<a href="#nowhere">a</a><a href="gone.html">b</a><img src="gone.png">'
        '<a href="https://example.org">fine</a><script src="https://example.org/x.js"></script>'
        "<code>rows[0][1]</code>"
    )
    pages = read(tmp_path)
    assert missing(tmp_path.resolve(), pages) == [
        "index.html: #nowhere",
        "index.html: gone.html",
        "index.html: gone.png",
    ]
    assert foreign(pages) == ["https://example.org/x.js"]
    assert left_over(pages) == [("index.html", "][")]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(site):
    """Where the site is served, in a sub-path."""
    handler = partial(Quiet, directory=str(site.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/site/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright, of dev")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs Chromium (Debian: apt install chromium)")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def page(browser, address):
    """A browser's page on which nothing goes wrong and which asks nobody else."""
    wrong, requests = [], []
    page = browser.new_page()
    page.set_default_timeout(20_000)
    page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("request", lambda request: requests.append(request.url))
    yield page
    page.close()
    assert [message for message in wrong if message.startswith(("error", "warning"))] == []
    assert [url for url in requests if not url.startswith((address, "data:", "blob:"))] == []


def test_search_finds_a_docstring(page, address):
    page.goto(address)
    page.get_by_role("button", name="Search").click()
    page.get_by_role("combobox").fill("Gaussian random field")
    page.get_by_role("option", name="gaussian_random_field").first.click()
    page.wait_for_url("**/api.html*#prorandconv.gaussian_random_field")


def test_playground_runs_inside_its_page(page, address):
    page.goto(address + "playground.html")
    play = page.frame_locator("#play")
    play.locator("#rand[aria-busy=false]").wait_for()
    assert play.locator(".strip button:enabled").count() == 14
    inside = play.locator("html").evaluate("html => html.offsetHeight")
    assert page.locator("#play").bounding_box()["height"] >= inside > 900


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page, address, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe, of dev")
    page.emulate_media(color_scheme=scheme)
    for name in ("index", "how"):
        page.goto(f"{address}{name}.html")
        found = axe.Axe().run(page).response["violations"]
        serious = [f for f in found if f["impact"] in ("serious", "critical")]
        assert [(f["id"], [n["html"] for n in f["nodes"]]) for f in serious] == []


def test_no_page_is_wider_than_the_screen(page, address):
    for name in ("index", "how", "api", "engines", "results/index", "results/speed/index"):
        page.goto(f"{address}{name}.html")
        for width in (390, 768, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_each_picture_links_itself_in_its_own_size(page, address):
    page.goto(f"{address}results/digits/index.html")
    links = page.locator("article a:has(> img)").evaluate_all("links => links.map((a) => a.href)")
    assert links == [
        f"{address}results/digits/{name}.png" for name in ("accuracy", "curves-150-epochs")
    ]


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_plots_are_dark_where_the_page_is(page, address, scheme, dark):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{address}results/digits/index.html")
    shown = page.locator("article img").first.evaluate("image => getComputedStyle(image).filter")
    assert shown.startswith("invert") is dark
