"""The page in a real browser."""

import shutil

import pytest

from prorandconv.lab.report.page import write_report

pytestmark = pytest.mark.xdist_group("browser")
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome", "chrome")
     if (found := shutil.which(name))),
    None,
)  # fmt: skip


@pytest.fixture(scope="module")
def opened(make_results, mini_cache, tmp_path_factory):
    """Opens the report; returns the page, its console's messages and what it asked for."""
    if CHROMIUM is None:
        pytest.skip("no Chromium: install the package chromium to test the page in a browser")
    browsers = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    results = make_results(tmp_path_factory.mktemp("page"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRORANDCONV_CACHE", str(mini_cache))
        write_report(results, results / "report")
    address = (results / "report" / "index.html").as_uri()
    with browsers.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

        def visit(width=1200, scheme="light"):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            messages, requests = [], []
            page.on("console", lambda message: messages.append(message.text))
            page.on("pageerror", lambda error: messages.append(str(error)))
            page.on("request", lambda request: requests.append(request.url))
            page.goto(address)
            return page, messages, [url for url in requests if not url.startswith("data:")]

        yield visit
        browser.close()


def test_tables_and_pictures_are_there_without_an_error_or_a_request(opened):
    page, messages, requests = opened()
    assert messages == []
    assert requests == [page.url]
    assert page.locator("table").count() == 6
    assert page.get_by_text("62.00 ± 2.00").is_visible()
    widths = page.evaluate("[...document.images].map(image => image.naturalWidth)")
    assert len(widths) == 4
    assert min(widths) > 200
    assert page.locator("img:visible").count() == 4


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_the_page_itself_never_scrolls_sideways(opened, width):
    page, _, _ = opened(width)
    inner, outer = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert inner <= outer == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_axe_finds_nothing_serious(opened, width, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe, of dev")
    page, _, _ = opened(width, scheme)
    found = axe.Axe().run(page).response["violations"]
    serious = [f for f in found if f["impact"] in ("serious", "critical")]
    assert [(f["id"], [n["html"] for n in f["nodes"]]) for f in serious] == []


def test_ground_and_plots_follow_light_and_dark(opened):
    def brightness(scheme):
        page, _, _ = opened(scheme=scheme)
        return page.evaluate(
            """() => {
                const image = document.images[0], canvas = document.createElement("canvas")
                canvas.width = image.naturalWidth
                canvas.height = image.naturalHeight
                const context = canvas.getContext("2d")
                context.drawImage(image, 0, 0)
                const ground = getComputedStyle(document.body).backgroundColor
                return [context.getImageData(2, 2, 1, 1).data[0], +ground.match(/\\d+/)[0]]
            }"""
        )

    assert min(brightness("light")) > 250
    assert max(brightness("dark")) < 40
