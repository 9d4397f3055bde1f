"""A fake encoder server with real HTTP on loopback, and images whose bytes say what their vectors are."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchsuite.corpus.model import Image, Item
from benchsuite.models.embedded.tiling import TILE_COUNTS
from benchsuite.retrieval.embed_images import ImageEncoder


@dataclass
class FakeEncoder:
    """Vectors are what the text or the image's bytes list as numbers, scaled to unit length.

    An image lists the vectors of its tiles, the whole first; the last one stands for all that are not listed.
    ``on_images`` runs before images are answered and
    may give another (status, reply).
    """

    url: str = ""
    device: str = "cpu"
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    embedded: Counter[str] = field(default_factory=Counter)
    on_images: Callable[[dict[str, Any]], tuple[int, Any] | None] = lambda body: None

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        self.requests.append((path, body))
        if path == "/v1/embeddings":
            data = [
                {"index": i, "embedding": units(json.loads(text))[0].tolist()} for i, text in enumerate(body["input"])
            ]
            return 200, {"data": data, "device": self.device}
        if path == "/v1/maxsim":
            folder = Path(body["index"])
            facts = json.loads((folder / "index.json").read_text())
            rows = np.fromfile(folder / "vectors.f32", "<f4").reshape(-1, facts["tiles"], facts["width"])
            queries = [units(json.loads(text))[0] for text in body["queries"]]
            scores = [(rows[asked] @ query).max(1).tolist() for query, asked in zip(queries, body["rows"], strict=True)]
            return 200, {"scores": scores, "device": self.device}
        changed = self.on_images(body)
        if changed is not None:
            return changed
        vectors = [tile_vectors(base64.b64decode(image), TILE_COUNTS[body["tiling"]]) for image in body["images"]]
        for image in body["images"]:
            self.embedded[hashlib.sha256(base64.b64decode(image)).hexdigest()] += 1
        return 200, image_reply(vectors, self.device)

    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]


def units(rows: list[Any]) -> np.ndarray[Any, Any]:
    table = np.atleast_2d(np.asarray(rows, np.float64))
    return (table / np.linalg.norm(table, axis=1, keepdims=True)).astype("<f4")


def tile_vectors(content: bytes, tiles: int) -> np.ndarray[Any, Any]:
    vectors = units(json.loads(content))
    return vectors[[min(tile, len(vectors) - 1) for tile in range(tiles)]]


def image_reply(vectors: list[np.ndarray[Any, Any]], device: str = "cpu") -> dict[str, Any]:
    data = [
        {"index": i, "vectors": base64.b64encode(v.astype("<f4").tobytes()).decode()} for i, v in enumerate(vectors)
    ]
    return {
        "data": data,
        "model": "fake",
        "tiles": vectors[0].shape[0],
        "width": vectors[0].shape[1],
        "device": device,
    }


@pytest.fixture
def server() -> Iterator[FakeEncoder]:
    fake = FakeEncoder()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, reply = fake.answer(self.path, body)
            content = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    fake.url = f"http://127.0.0.1:{http.server_port}/v1"
    yield fake
    http.shutdown()
    thread.join()
    http.server_close()


def fake_image(*vectors: list[float]) -> Image:
    """An image whose stored bytes are its ``path``: the JSON of its vectors."""
    content = json.dumps([list(vector) for vector in vectors])
    digest = hashlib.sha256(content.encode()).hexdigest()
    return Image(digest, content, "image/png", 10, 10, len(content))


def stored(image: Image) -> bytes:
    return image.path.encode()


def fake_item(name: str, *images: Image, text: str = "", date: str = "") -> Item:
    return Item(name, (f"turn {name}",), "user", text, tuple(images), date, 1)


@dataclass
class Kit:
    """What the tests of this folder share: makers of images and items, and encoders over the fake server."""

    server: FakeEncoder
    cache: Path

    image = staticmethod(fake_image)
    item = staticmethod(fake_item)
    reply = staticmethod(image_reply)
    vectors = staticmethod(tile_vectors)

    def encoder(self, identity: str = "fake/1", reader: Callable[[Image], bytes] = stored) -> ImageEncoder:
        async def locate() -> str:
            return self.server.url

        return ImageEncoder("fake", identity, self.cache, locate, reader)


@pytest.fixture
def kit(server: FakeEncoder, tmp_path: Path) -> Kit:
    return Kit(server, tmp_path / "cache")
