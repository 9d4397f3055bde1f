"""The image encoder over its index: each image is embedded once, whoever asks; scores are cosines."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchsuite.corpus.model import Image
from benchsuite.errors import ConfigError, DataError, EndpointError
from benchsuite.retrieval.embed import TextEncoder, VectorStore
from benchsuite.retrieval.embed_images import BATCH_IMAGES, ImageEncoder

if TYPE_CHECKING:
    from .conftest import Kit

ROOT = Path(__file__).resolve().parents[2]
EAST, NORTH = "[1, 0]", "[0, 1]"


def use(encoder: ImageEncoder, work: Callable[[ImageEncoder], Awaitable[Any]]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(30), contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(encoder.close)
            return await work(encoder)

    return asyncio.run(bounded())


def test_an_image_scores_by_its_best_vector_in_region_and_by_its_first_in_whole(kit: Kit) -> None:
    """Cosines worked out by hand: 3-4-5 triangles."""
    images = [kit.image([3, 4], [1, 0]), kit.image([4, 3], [0, 1]), kit.image([-1, 0], [-3, 4])]

    async def work(encoder: ImageEncoder) -> tuple[list[float], ...]:
        return (
            await encoder.scores(EAST, images, "whole"),
            await encoder.scores(EAST, images, "region"),
            await encoder.scores(NORTH, [images[2], images[0], images[2]], "region"),
            await encoder.scores(NORTH, [], "region"),
        )

    whole, region, north, none = use(kit.encoder(), work)
    assert whole == pytest.approx([0.6, 0.8, -1.0])
    assert region == pytest.approx([1.0, 0.8, -0.6])
    assert north == pytest.approx([0.8, 0.8, 0.8])
    assert none == []


def test_what_is_on_disk_asks_no_server(kit: Kit) -> None:
    images = [kit.image([n, 1], [1, n]) for n in range(3)]
    first = use(kit.encoder(), lambda encoder: encoder.scores(EAST, images, "region"))
    asked = len(kit.server.requests)
    kit.server.url = "http://127.0.0.1:9/v1"

    def unread(image: Image) -> bytes:
        raise AssertionError("an image that is in the index is not read")

    assert use(kit.encoder(reader=unread), lambda encoder: encoder.scores(EAST, images, "region")) == first
    assert len(kit.server.requests) == asked
    with pytest.raises(EndpointError, match="Cannot connect"):
        use(kit.encoder("fake/2"), lambda encoder: encoder.scores(EAST, images, "region"))


def test_costs_are_counted(kit: Kit) -> None:
    images = [kit.image([n, 1], [1, n]) for n in range(3)]

    async def work(encoder: ImageEncoder) -> Any:
        assert encoder.costs() == {}
        await encoder.scores(EAST, images[:2], "region")
        await encoder.scores(NORTH, images, "region")
        return encoder.costs()

    (region,) = use(kit.encoder(), work).values()
    assert (region.width, region.tiles, region.images, region.bytes) == (2, 5, 3, 3 * 5 * 2 * 4)
    assert (region.embedded, region.queries) == (3, 2)
    assert region.encode_s > 0
    assert region.score_ms > 0
    (later,) = use(kit.encoder(), lambda e: as_coroutine(e.costs())).values()
    assert (later.images, later.encode_s, later.embedded, later.queries) == (3, region.encode_s, 0, 0)


async def as_coroutine(value: Any) -> Any:
    return value


def test_an_image_of_several_histories_is_embedded_once(kit: Kit) -> None:
    """Forty cells at once over histories that overlap, in one process."""
    images = [kit.image([n, 1], [1, n]) for n in range(60)]

    async def work(encoder: ImageEncoder) -> list[list[float]]:
        parts = [images[start : start + 20] for start in range(40)]
        return await asyncio.gather(*(encoder.scores(EAST, part, "region") for part in parts))

    found = use(kit.encoder(), work)
    assert found[0][10] == found[10][0]
    assert len(kit.server.embedded) == 59
    assert set(kit.server.embedded.values()) == {1}
    sizes = [len(body["images"]) for path, body in kit.server.requests if path == "/v1/image_embeddings"]
    assert max(sizes) <= BATCH_IMAGES


WORKER = textwrap.dedent("""
    import asyncio, json, sys
    from pathlib import Path
    from benchsuite.corpus.model import Image
    from benchsuite.retrieval.embed_images import ImageEncoder

    async def main(url, cache, records):
        async def locate():
            return url
        images = [Image(digest, path, "image/png", 10, 10, len(path)) for digest, path in json.loads(records)]
        encoder = ImageEncoder("fake", "fake/1", Path(cache), locate, lambda image: image.path.encode())
        print("ready", flush=True)
        sys.stdin.readline()
        print(json.dumps(await encoder.scores("[1, 0]", images, "region")), flush=True)
        await encoder.close()

    asyncio.run(main(*sys.argv[1:]))
""")


def worker(kit: Kit, images: list[Image]) -> subprocess.Popen[str]:
    records = json.dumps([[image.sha256, image.path] for image in images])
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, kit.server.url, str(kit.cache), records],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_two_processes_at_once_embed_each_image_once(kit: Kit) -> None:
    images = [kit.image([n, 1], [1, n]) for n in range(50)]
    shares = [images[:40], images[:9:-1]]
    kit.server.on_images = lambda body: time.sleep(0.02)  # so that the two are at it at the same time
    workers = [worker(kit, share) for share in shares]
    try:
        for one in workers:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        for one in workers:
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
        outputs = [one.communicate(timeout=30)[0] for one in workers]
    finally:
        for one in workers:
            one.kill()
    assert set(kit.server.embedded.values()) == {1}
    assert len(kit.server.embedded) == 50
    senders = {len(body["images"]) for path, body in kit.server.requests if path == "/v1/image_embeddings"}
    assert max(senders) == BATCH_IMAGES
    for share, output in zip(shares, outputs, strict=True):
        expected = use(kit.encoder(), lambda encoder, share=share: encoder.scores(EAST, share, "region"))
        assert json.loads(output) == expected


def test_a_worker_killed_while_embedding_leaves_its_images_to_others(kit: Kit) -> None:
    images = [kit.image([n, 1], [1, n]) for n in range(12)]
    asked, go_on = threading.Event(), threading.Event()

    def hang(body: dict[str, Any]) -> None:
        asked.set()
        go_on.wait(30)

    kit.server.on_images = hang
    with worker(kit, images) as doomed:
        try:
            doomed.stdin.write("\n")  # type: ignore[union-attr]
            doomed.stdin.flush()  # type: ignore[union-attr]
            assert asked.wait(30)
        finally:
            doomed.kill()
            doomed.communicate()
    kit.server.on_images = lambda body: None
    go_on.set()
    scores = use(kit.encoder(), lambda encoder: encoder.scores(EAST, images, "region"))
    assert len(scores) == 12
    assert all(score > 0.7 for score in scores)


def test_a_request_holds_no_more_than_its_bytes(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Images whose files are large travel alone or in pairs."""
    monkeypatch.setattr("benchsuite.retrieval.embed_images.BATCH_BYTES", 1000)
    sizes = [500, 500, 10, 2000, 10]
    images = [kit.image([n, 1], [1, n]) for n in range(5)]
    padded = {image.sha256: image.path.encode() + b" " * size for image, size in zip(images, sizes, strict=True)}
    large = [replace(image, size=len(padded[image.sha256])) for image in images]
    encoder = kit.encoder(reader=lambda image: padded[image.sha256])
    use(encoder, lambda encoder: encoder.scores(EAST, large, "region"))
    sent = [len(body["images"]) for path, body in kit.server.requests if path == "/v1/image_embeddings"]
    assert sent == [1, 2, 1, 1]


def test_where_cuda_is_the_server_scores(kit: Kit) -> None:
    images = [kit.image([n, 1], [1, n]) for n in range(3)]
    here = use(kit.encoder(), lambda encoder: encoder.scores(EAST, images, "region"))
    assert "/v1/maxsim" not in kit.server.paths()
    kit.server.device = "cuda"
    more = [*images[::-1], kit.image([1, 9])]

    async def work(encoder: ImageEncoder) -> tuple[list[float], list[float], str]:
        known = await encoder.scores(EAST, images, "region")  # all on disk: nobody was asked, nobody said cuda
        assert "/v1/maxsim" not in kit.server.paths()
        return known, await encoder.scores(EAST, more, "region"), encoder.costs()["region"].device

    known, there, device = use(kit.encoder(), work)
    assert kit.server.paths()[-1] == "/v1/maxsim"
    assert known == here
    assert there[2::-1] == pytest.approx(here, abs=1e-6)
    assert device == "cuda"


def spoilt(kit: Kit, body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    vectors = [kit.vectors(base64.b64decode(image), 5) for image in body["images"]]
    return {**kit.reply(vectors), **changes}


BAD_REPLIES: dict[str, tuple[Callable[[Kit, dict[str, Any]], Any], str]] = {
    "no data": (lambda kit, body: {"width": 2}, "not an image_embeddings reply: KeyError: 'data'"),
    "a list": (lambda kit, body: [], "not an object but list"),
    "one less": (lambda kit, body: spoilt(kit, body, data=[]), r"vectors of images \[\] for 2 images"),
    "width": (lambda kit, body: spoilt(kit, body, width=3), "cannot reshape array of size 10"),
    "not base64": (lambda kit, body: spoilt(kit, body, data=[{"index": 0, "vectors": "%"}] * 2), r"images \[0\] for 2"),
    "not unit": (lambda kit, body: kit.reply([np.full((5, 2), 3.0)] * 2), "image 0 has a vector of length 4.24"),
    "no number": (lambda kit, body: kit.reply([np.full((5, 2), np.nan)] * 2), "image 0 has a vector of length nan"),
}


@pytest.mark.parametrize("kind", BAD_REPLIES)
def test_a_reply_that_makes_no_sense_is_one_line_and_nothing_is_kept(kit: Kit, kind: str) -> None:
    reply, problem = BAD_REPLIES[kind]
    kit.server.on_images = lambda body: (200, reply(kit, body))
    images = [kit.image([n, 1], [1, n]) for n in range(2)]
    with pytest.raises(EndpointError, match=problem) as error:
        use(kit.encoder(), lambda encoder: encoder.scores(EAST, images, "region"))
    assert str(error.value).startswith(f"{kit.server.url}/image_embeddings: ")
    assert kit.encoder().costs() == {}
    kit.server.on_images = lambda body: None
    assert len(use(kit.encoder(), lambda encoder: encoder.scores(EAST, images, "region"))) == 2


def test_another_width_than_the_index_has_is_refused(kit: Kit) -> None:
    """An encoder that changed under its identity: its images and its texts are found out."""
    images = [kit.image([n, 1], [1, n]) for n in range(2)]
    use(kit.encoder(), lambda encoder: encoder.scores(EAST, images, "region"))
    wide = [*images, kit.image([1, 2, 3])]
    with pytest.raises(
        DataError, match=r"cache/index/\w{64}: width: is 5 of 2 an image, .* width 3; remove this folder"
    ):
        use(kit.encoder(), lambda encoder: encoder.scores(EAST, wide, "region"))
    with pytest.raises(DataError, match=r"width: is 2, but the query's vector has 3; remove this folder"):
        use(kit.encoder(), lambda encoder: encoder.scores("[1, 2, 3]", images, "region"))


def test_an_image_that_does_not_decode_is_named_by_its_file(kit: Kit) -> None:
    images = [kit.image([n, 1], [1, n]) for n in range(3)]
    message = "images.1: image of 9 bytes cannot be decoded: UnidentifiedImageError"
    kit.server.on_images = lambda body: (400, {"error": {"message": message}})
    with pytest.raises(DataError) as error:
        use(kit.encoder(), lambda encoder: encoder.scores(EAST, images, "region"))
    assert str(error.value) == (
        f"{images[1].path}: the image encoder says: {kit.server.url}/image_embeddings: HTTP 400: {message}"
    )
    kit.server.on_images = lambda body: (503, {"error": {"message": "images.1: busy"}})
    with pytest.raises(EndpointError, match=r"HTTP 503: images\.1: busy"):
        use(kit.encoder(), lambda encoder: encoder.scores(EAST, images, "region"))


def test_an_image_without_bytes_and_an_unknown_index_are_errors(kit: Kit) -> None:
    gone = Image("", "a/b.png", missing="absent")
    with pytest.raises(DataError, match=r"a/b\.png: there are no bytes: absent"):
        use(kit.encoder(), lambda encoder: encoder.scores(EAST, [gone], "region"))
    with pytest.raises(ConfigError, match="index has no value 'tiles'; known: whole, region"):
        use(kit.encoder(), lambda encoder: encoder.scores(EAST, [], "tiles"))
    assert kit.server.requests == []


def test_a_file_that_changed_is_that_files_error_and_the_others_get_their_turn(kit: Kit) -> None:
    images = [kit.image([n, 1], [1, n]) for n in range(3)]

    def reader(image: Image) -> bytes:
        if image == images[1]:
            raise DataError(image.path, None, None, "the image changed after it was indexed")
        return image.path.encode()

    async def work(encoder: ImageEncoder) -> list[Any]:
        parts = (images[:1], images[:2], images[2:])
        return await asyncio.gather(*(encoder.scores(EAST, p, "region") for p in parts), return_exceptions=True)

    first, second, third = use(kit.encoder(reader=reader), work)
    assert (len(first), len(third)) == (1, 1)
    assert "changed after it was indexed" in str(second)


def test_stored_text_vectors_of_two_widths_are_refused(kit: Kit, tmp_path: Path) -> None:
    async def work(widths: list[str]) -> int:
        async def locate() -> str:
            return kit.server.url

        encoder = TextEncoder("fake", VectorStore(tmp_path / "texts"), locate)
        try:
            return (await encoder.embed(widths)).shape[1]
        finally:
            await encoder.close()

    assert asyncio.run(work(["[1, 0]", "[0, 1]"])) == 2
    with pytest.raises(DataError, match=r"texts: vectors: have widths 2, 3; remove this folder"):
        asyncio.run(work(["[1, 0]", "[1, 2, 3]"]))
