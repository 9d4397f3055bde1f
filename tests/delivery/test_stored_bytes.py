"""Codec `stored`: the bytes in the request are those of the file, seen by an endpoint that logs what it gets."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchsuite.corpus.memlens import memlens_source
from benchsuite.corpus.model import Query
from benchsuite.corpus.store import index_corpus, open_corpus
from benchsuite.delivery.arrange import all_slots, arrange
from benchsuite.delivery.images import ImageDesk
from benchsuite.delivery.render import render
from benchsuite.models.client import HttpTransport
from benchsuite.models.spec import ModelSpec
from benchsuite.models.wire import Request

TINY = Path(__file__).parents[1] / "data" / "memlens-tiny"
REPLY = {"model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "ok"}}]}


@pytest.fixture
def log() -> Iterator[tuple[str, list[bytes]]]:
    """The base URL of an endpoint on loopback, and the bodies it gets."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(REPLY).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", bodies
        server.shutdown()


@pytest.fixture
def sent(log, tmp_path, protocol, delivery):
    """The images of the first tiny question's whole history as they arrive under a delivery, and its items."""
    url, bodies = log
    corpus = open_corpus(index_corpus(memlens_source(str(TINY / "dataset_32k.json")), tmp_path))
    question = corpus.question("32k", corpus.outline("32k")[0].id)
    items = corpus.items(corpus.history(question.history_id))

    def send(text: str) -> list[bytes]:
        chosen, desk = delivery(text), ImageDesk(tmp_path / "image")
        placed = arrange(items, chosen, "seed")
        slots = all_slots(placed)
        images = {slot.key: desk.prepare(slot, chosen, corpus.image_bytes) for slot in slots}
        messages = render(placed, Query(question.text, question.date), chosen, protocol, images)

        async def ask() -> None:
            transport = HttpTransport(desk.bytes_of)
            reply = await transport.send(ModelSpec("m", "m", url, url), Request("m", messages, {}))
            await transport.close()
            assert reply.text == "ok"

        asyncio.run(ask())
        body = json.loads(bodies[-1])
        blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
        uris = [block["image_url"]["url"] for block in blocks if block["type"] == "image_url"]
        assert [uri.split(";")[0] for uri in uris] == [f"data:{images[slot.key].mime}" for slot in slots]
        return [base64.b64decode(uri.partition(",")[2], validate=True) for uri in uris]

    corpus_files = [
        (TINY / "release_images" / image.path).read_bytes()
        for item in items
        for image in item.images
        if not image.missing
    ]
    return send, corpus_files


@pytest.mark.parametrize("text", ["stored", "direct", "stored+tagtext+date", "direct+label_images"])
def test_the_bytes_sent_are_the_bytes_of_the_files(sent, text):
    send, files = sent
    assert send(text) == files
    kinds = {data[:4] for data in files}
    assert kinds == {b"\x89PNG", b"\xff\xd8\xff\xe0", b"RIFF"}


def test_under_png_only_a_stored_png_goes_as_it_is(sent):
    send, files = sent
    arrived = send("pixels")
    assert {data[:4] for data in arrived} == {b"\x89PNG"}
    assert [a == f for a, f in zip(arrived, files, strict=True)] == [f[:4] == b"\x89PNG" for f in files]
    assert all(a != f for a, f in zip(send("deployed"), files, strict=True))
