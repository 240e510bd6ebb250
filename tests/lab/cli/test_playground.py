"""The command that opens the playground."""

import webbrowser
from http.server import ThreadingHTTPServer
from threading import Thread
from urllib.request import urlopen

import pytest


@pytest.fixture
def visited(monkeypatch):
    """What was fetched while the command served, and what the browser was sent to."""
    seen = {"fetched": None, "opened": None}

    def serve_once(server):
        server.timeout = 10
        client = Thread(target=lambda: seen.update(fetched=fetch(server.server_port)))
        client.start()
        server.handle_request()
        client.join()
        raise KeyboardInterrupt

    def fetch(port):
        with urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
            return answer.read().decode()

    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", serve_once)
    monkeypatch.setattr(webbrowser, "open", lambda url: seen.update(opened=url))
    return seen


def test_it_serves_the_page_and_opens_the_browser(run, visited):
    code, out, _ = run("playground", "--port", "0")
    assert code == 0
    assert "<title>Pro-RandConv playground</title>" in visited["fetched"]
    assert visited["opened"] in out
    assert visited["opened"].startswith("http://127.0.0.1:")


def test_no_open_leaves_the_browser_alone(run, visited):
    code, out, _ = run("playground", "--port", "0", "--no-open")
    assert code == 0
    assert visited["opened"] is None
    assert "http://127.0.0.1:" in out


def test_port_that_cannot_be_is_refused(run):
    code, _, err = run("playground", "--port", "70000", "--no-open")
    assert code == 2
    assert "port: got 70000, expected a number from 0 to 65535" in err
