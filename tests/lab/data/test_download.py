"""Downloads from a server of the test's own."""

import gzip
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from prorandconv.lab.data import DataError
from prorandconv.lab.data.download import Download, fetch

CONTENT = bytes(range(256)) * 4000


class Server(ThreadingHTTPServer):
    """Serves CONTENT; remembers what was asked for."""

    resumes = True
    breaks_after = None
    content = CONTENT

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.ranges = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/file"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if "absent" in self.path:
            self.send_error(404)
            return
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        begin = int(asked[6:-1]) if asked and self.server.resumes else 0
        body = self.server.content[begin:]
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.breaks_after])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def download(server, path, content=CONTENT, urls=None):
    md5 = hashlib.md5(content).hexdigest()
    return Download("svhn", "test", urls or (server.url,), md5, path)


def test_a_file_arrives_whole_with_nothing_beside_it(server, tmp_path):
    path = tmp_path / "digits" / "file.mat"
    fetch(download(server, path))
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_there_is_not_asked_for(server, tmp_path):
    path = tmp_path / "file.mat"
    path.write_bytes(b"own")
    fetch(download(server, path))
    assert path.read_bytes() == b"own"
    assert server.ranges == []


def test_what_broke_off_is_gone_on_with(server, tmp_path):
    path = tmp_path / "file.mat"
    server.breaks_after = 100_000
    with pytest.raises(DataError, match=r"file\.mat: could not be downloaded .*run the command"):
        fetch(download(server, path))
    assert not path.exists()
    server.breaks_after = None
    fetch(download(server, path))
    assert path.read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=100000-"]


def test_a_server_that_cannot_resume_sends_all_again(server, tmp_path):
    path = tmp_path / "file.mat"
    (tmp_path / "file.mat.part").write_bytes(CONTENT[:5000])
    server.resumes = False
    fetch(download(server, path))
    assert path.read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(server, tmp_path):
    path = tmp_path / "file.mat"
    with pytest.raises(DataError, match="wrong checksum"):
        fetch(download(server, path, content=b"other"))
    assert not path.exists()
    assert not (tmp_path / "file.mat.part").exists()


def test_the_next_mirror_is_tried(server, tmp_path):
    path = tmp_path / "file.mat"
    fetch(download(server, path, urls=(f"{server.url}-absent", server.url)))
    assert path.read_bytes() == CONTENT


def test_what_comes_packed_is_unpacked(server, tmp_path):
    server.content = gzip.compress(b"digits" * 1000)
    path = tmp_path / "train-images-idx3-ubyte"
    fetch(download(server, path, server.content, urls=(f"{server.url}.gz",)))
    assert path.read_bytes() == b"digits" * 1000
    assert list(tmp_path.iterdir()) == [path]


def test_two_processes_fetching_the_same_file_take_turns(server, tmp_path):
    path = tmp_path / "file.mat"
    threads = [threading.Thread(target=fetch, args=(download(server, path),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() == CONTENT
    assert server.ranges == [None]
