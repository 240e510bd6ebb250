"""The playground in a browser."""

from __future__ import annotations

import base64
import io
import json
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from PIL import Image

from prorandconv import play

sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright, of the extra dev")

pytestmark = pytest.mark.xdist_group("browser")
FLAGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs Chromium (Debian: apt install chromium)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address():
    with play.server(0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Page:
    """A page of the playground, and what a reader of it does."""

    def __init__(self, page):
        self.page = page
        self.noise = []
        page.set_default_timeout(20_000)
        page.on("console", lambda message: self.noise.append(message.text))
        page.on("pageerror", lambda error: self.noise.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        self.requests = []

    def open(self, url):
        self.page.goto(url)
        return self.wait()

    def wait(self):
        """Until both strips are ready."""
        for strip in ("pro", "rand"):
            self.page.locator(f"#{strip}[aria-busy=false]").wait_for()
        return self

    def result(self, canvas="#result"):
        """The pixels that a canvas shows."""
        url = self.page.evaluate("name => document.querySelector(name).toDataURL()", canvas)
        return np.array(Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))).convert("RGB"))

    def give(self, name, content, event="drop"):
        """Drop or paste a file."""
        self.page.evaluate(
            """([name, content, kind]) => {
                const data = new DataTransfer();
                const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
                data.items.add(new File([bytes], name));
                const Kind = { drop: DragEvent, paste: ClipboardEvent }[kind];
                const facts = { bubbles: true, cancelable: true };
                const event = new Kind(kind, { ...facts, dataTransfer: data, clipboardData: data });
                document.body.dispatchEvent(event);
            }""",
            [name, base64.b64encode(content).decode(), event],
        )

    def status(self, text):
        """Wait for a message."""
        sync_api.expect(self.page.locator("#status")).to_contain_text(text)

    def saved(self, button, folder):
        """The file that a button saves."""
        with self.page.expect_download() as download:
            self.page.click(button)
        path = folder / download.value.suggested_filename
        download.value.save_as(path)
        return path

    def unfold(self):
        self.page.locator("details").evaluate_all("all => all.forEach((d) => (d.open = true))")

    def slide(self, name, value):
        self.page.locator(f"#{name}").fill(str(value))
        return self.wait()


@pytest.fixture
def new_page(browser):
    contexts = []

    def new(**options):
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        contexts.append(browser.new_context(**options))
        contexts[-1].grant_permissions(["clipboard-read", "clipboard-write"])
        return Page(contexts[-1].new_page())

    yield new
    for context in contexts:
        context.close()


@pytest.fixture
def page(new_page, address):
    page = new_page().open(address + "#size=96")
    yield page
    assert page.noise == [], "messages in the console"
    foreign = [url for url in page.requests if not url.startswith((address, "data:", "blob:"))]
    assert foreign == []


def png(picture):
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "png")
    return file.getvalue()


def test_first_view_shows_a_sample_and_fourteen_frames(new_page, address):
    page = new_page().open(address)
    assert page.page.locator(".strip button:enabled").count() == 14
    assert page.result().shape == (224, 224, 3)
    assert page.result().std() > 5
    assert page.noise == []


@pytest.mark.parametrize("event", ["drop", "paste"])
def test_picture_that_is_given_is_augmented(page, picture, event):
    page.give("mine.png", png(picture(60, 90)), event)
    page.status("mine: 90 × 60 pixels")
    page.wait()
    assert np.array_equal(page.result("#original"), picture(60, 90))
    assert page.result().shape == (60, 90, 3)


def test_chosen_picture_of_twelve_megapixels_is_scaled_down(page):
    large = io.BytesIO()
    Image.linear_gradient("L").resize((4000, 3000)).save(large, "jpeg")
    file = {"name": "large.jpg", "mimeType": "image/jpeg", "buffer": large.getvalue()}
    page.page.set_input_files("#choose", file)
    page.status("large: 4000 × 3000 pixels, scaled to 96 × 72")


def test_file_that_is_no_picture_is_refused_and_the_old_one_stays(page):
    before = page.result()
    for name, content, words in (
        ("notes.txt", b"no picture", "“notes.txt” cannot be used: this browser sees no picture"),
        ("broken.png", b"\x89PNG....", "“broken.png” cannot be used: this browser sees no picture"),
        ("other.json", b'{"a": 1}', "its format is not “prorandconv.draw”"),
        ("half.json", b'{"format": "prorandconv.dr', "it is not a whole draw file"),
    ):
        page.give(name, content)
        page.status(words)
        assert np.array_equal(page.result(), before)


def test_slider_keeps_the_random_numbers(page):
    before = page.result()
    changed = page.slide("sigma_beta", 1.5).result()
    assert not np.array_equal(changed, before)
    page.page.dblclick("#sigma_beta")
    page.wait()
    assert page.page.input_value("#sigma_beta") == "0.5"
    assert np.array_equal(page.result(), before)


def test_new_draw_keeps_the_settings_and_changes_the_picture(page):
    page.slide("sigma_gamma", 0.8)
    before = page.result()
    page.page.click("#new")
    page.wait()
    assert page.page.input_value("#sigma_gamma") == "0.8"
    assert not np.array_equal(page.result(), before)


def test_back_returns_to_the_draw_before(page):
    before = page.result()
    page.page.click("#new")
    page.wait().page.go_back()
    sync_api.expect(page.page.locator("#seed")).to_have_text("number 4")
    assert np.array_equal(page.wait().result(), before)


def test_click_on_a_frame_sets_the_repetitions(page):
    page.page.click("#pro button[value='3']")
    assert page.page.input_value("#L") == "3"
    assert np.array_equal(page.result(), page.result("#pro button[value='3'] canvas"))


def test_address_brings_the_same_picture_back(page, new_page):
    page.slide("alpha", 4).slide("L", 6)
    page.page.click("#samples button[value='cat']")
    page.status("cat")
    page.wait().page.click("#rand button[value='7']")
    other = new_page().open(page.page.url)
    assert np.array_equal(other.result(), page.result())
    assert np.array_equal(other.result("#pro canvas"), page.result("#pro canvas"))


def test_saved_draw_dropped_in_gives_the_same_picture(page, new_page, address, tmp_path):
    page.page.select_option("#size", "32")
    page.wait()
    page.slide("L", 4)
    path = page.saved("#save-draw", tmp_path)
    other = new_page().open(address)
    other.give(path.name, path.read_bytes())
    other.status("made for 32 × 32 pixels")
    other.wait()
    assert np.array_equal(other.result(), page.result())
    assert other.page.locator("#sigma_g").is_disabled()
    assert other.noise == []


def test_draw_made_by_python_is_applied(page, by_python, picture):
    import torch

    import prorandconv as prc

    transform = prc.ProRandConv(5, repeats=3, padding="reflect")
    text = transform.draw(torch.zeros(3, 40, 56)).to_json()
    page.give("mine.png", png(picture(40, 56)))
    page.status("mine")
    page.wait().give("python.draw.json", text.encode())
    page.status("made for 56 × 40 pixels")
    page.wait()
    expected = (by_python(text, picture(40, 56)) + 1) * 127.5
    assert np.abs(page.result() - expected.transpose(1, 2, 0)).max() < 0.51


STATES = {
    "paper": "#seed=5&size=96",
    "frame": "#picture=cat&L=4&seed=2&size=96&padding=reflect&k=5",
    "bare": "#seed=3&size=96&contrast=false&standardise=false&affine=false&tanh=false"
    "&weights=different&offsets=false&L=3",
    "some contrast": "#seed=3&size=96&affine=false&smoothing=false&b_delta=1.5&L=5",
    "rough offsets": "#seed=4&size=160&alpha=2&L=2",
    "randconv": "#method=rand&rand.k=5&rand.b_w=1&size=96&seed=2",
}


@pytest.mark.parametrize("state", STATES)
def test_copied_python_makes_the_same_picture(new_page, address, tmp_path, monkeypatch, state):
    page = new_page().open(address + STATES[state])
    page.page.click("#copy")
    page.status("Copied")
    code = page.page.evaluate("() => navigator.clipboard.readText()")
    page.saved("#save-original", tmp_path)
    page.saved("#save-draw", tmp_path)
    shown = np.array(Image.open(page.saved("#save-result", tmp_path)).convert("RGB"))
    (tmp_path / page.page.evaluate("() => names().result")).unlink()
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "copied.py", "exec"), {})
    (made,) = (path for path in tmp_path.glob("*conv*.png"))
    difference = np.abs(np.array(Image.open(made)).astype(int) - shown.astype(int))
    assert difference.max() <= 1
    assert (difference == 0).mean() >= 0.999


def test_keyboard_alone_reaches_and_works_everything(page):
    reached = []
    press = page.page.keyboard.press
    focus = "(e) => e.id || e.name || e.value || e.tagName"
    page.unfold()
    for _ in range(80):
        press("Tab")
        reached.append(page.page.locator(":focus").evaluate(focus))
        if reached[-1] == "new":
            seed = page.page.inner_text("#seed")
            press("Enter")
            page.wait()
            assert page.page.inner_text("#seed") != seed
        elif reached[-1] == "handle":
            press("ArrowRight")
            assert page.page.input_value("#handle") == "51"
        elif reached[-1] == "sigma_beta":
            press("ArrowRight")
            assert page.page.input_value("#sigma_beta") == "0.55"
        elif reached[-1] == "tanh":
            press("Space")
            assert not page.page.is_checked("[name=tanh]")
            press("Space")
        elif reached[-1] == "keep":
            page.wait()
            press("Enter")
            break
    wanted = {"astronaut", "cat", "retina", "street", "choose", "size", "handle", "new", "copy"}
    wanted |= {"save-draw", "save-result", "save-original", "1", "10", "preset", "weights"}
    wanted |= {"padding", "k", "L"}
    wanted |= {"smoothing", "sigma_g", "offsets", "b_delta", "alpha", "contrast", "standardise"}
    wanted |= {"affine", "tanh", "sigma_gamma", "sigma_beta", "SUMMARY", "keep"}
    assert wanted <= set(reached)
    assert "No difference yet" in page.page.inner_text("#compare p")


def test_nothing_is_wider_than_the_screen(page):
    page.unfold()
    for width in (390, 768, 1280):
        page.page.set_viewport_size({"width": width, "height": 800})
        page.page.evaluate("() => showDetails()")
        assert page.page.evaluate("() => document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(new_page, address, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe, of dev")
    page = new_page(color_scheme=scheme).open(address)
    page.unfold()
    found = axe.Axe().run(page.page).response["violations"]
    serious = [f for f in found if f["impact"] in ("serious", "critical")]
    assert [(f["id"], [n["html"] for n in f["nodes"]]) for f in serious] == []


def test_colours_follow_the_scheme_and_motion_can_be_off(new_page, address):
    page = new_page(color_scheme="dark", reduced_motion="reduce").open(address)
    style = "(name) => getComputedStyle(document.querySelector(name))"
    assert page.page.evaluate(f"() => ({style})(':root').backgroundColor") == "rgb(24, 23, 22)"
    assert page.page.evaluate(f"() => ({style})('.strip button').transitionDuration") == "0s"


def test_page_works_as_a_file(new_page):
    page = new_page().open((play.FOLDER / "index.html").as_uri())
    assert page.result().shape == (224, 224, 3)
    assert page.noise == []


def test_page_works_from_a_sub_path(new_page):
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = partial(Quiet, directory=str(play.FOLDER.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = new_page().open(f"http://127.0.0.1:{server.server_port}/play/index.html")
        assert page.result().shape == (224, 224, 3)
        server.shutdown()
    assert page.noise == []


def test_saved_draw_is_the_file_that_python_reads(page, tmp_path):
    file = json.loads(page.saved("#save-draw", tmp_path).read_text(encoding="utf-8"))
    assert (file["format"], file["version"], file["transform"]) == (
        "prorandconv.draw",
        1,
        "ProRandConv",
    )
    assert (file["size"], file["repeats"], file["layered"]) == ([96, 96], 10, False)
    assert file["offsets"]["kind"] == "waves"
    assert file["offsets"]["coefficients"]["shape"] == [18, 9, 9]
