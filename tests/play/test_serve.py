"""Serving the playground's files, and nothing else."""

import threading
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from prorandconv import ProRandConvError, play


@pytest.fixture(scope="module")
def address():
    with play.server(0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/index.html#seed=3", "text/html"),
        ("/app.js?1", "text/javascript"),
        ("/style.css", "text/css"),
        ("/samples/cat.js", "text/javascript"),
    ],
)
def test_files_of_the_page_are_served(address, path, kind):
    with urlopen(address + path, timeout=10) as answer:
        assert answer.headers.get_content_type() == kind
        assert answer.read()


@pytest.mark.parametrize(
    "path", ["/samples/", "/samples", "/serve.py", "/__init__.py", "/../errors.py", "/none.js"]
)
def test_listings_and_other_files_are_not(address, path):
    with pytest.raises(HTTPError) as error:
        urlopen(address + path, timeout=10)
    assert error.value.code == 404


def test_port_in_use_is_told(address):
    port = int(address.rsplit(":", 1)[1])
    with pytest.raises(ProRandConvError, match=f"port: got {port}, expected a port that can be"):
        play.server(port)


def test_page_weighs_less_than_60_kb_and_its_samples_less_than_150():
    page = [path for kind in ("html", "css", "js") for path in play.FOLDER.glob(f"*.{kind}")]
    assert len(page) > 10
    assert sum(path.stat().st_size for path in page) < 60_000
    assert sum(path.stat().st_size for path in play.FOLDER.glob("samples/*.js")) < 150_000
