"""Encoders over real HTTP, started by the real launcher; the checkpoints are tiny and randomly initialised."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import openai
import pytest
from starlette.testclient import TestClient

from benchsuite.errors import EndpointError
from benchsuite.models.embedded.ocr import decode
from benchsuite.models.encoders.serve import build_app, load_encoder
from benchsuite.models.encoders.siglip2 import SigLip2
from benchsuite.models.encoders.spec import parse_encoder
from benchsuite.models.launch import launch_server

ROUNDED = 1.1e-5


@pytest.fixture(scope="module")
def served(siglip2_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    spec = parse_encoder("image", f"siglip2:{siglip2_folder}", folder)
    server = launch_server(spec.server, folder / "server.log")
    server.wait_ready()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reader")
    server = launch_server(parse_encoder("image", "", folder).server, folder / "server.log")
    server.wait_ready()
    yield server
    server.stop()


def post(url, body):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def images_body(*images, tiling="region", model="siglip2"):
    return {"model": model, "tiling": tiling, "images": [base64.b64encode(image).decode() for image in images]}


def vectors(reply):
    shape = reply["tiles"], reply["width"]
    assert [row["index"] for row in reply["data"]] == list(range(len(reply["data"])))
    return [np.frombuffer(base64.b64decode(row["vectors"]), "<f4").reshape(shape) for row in reply["data"]]


def test_health_says_what_serves(served):
    with urllib.request.urlopen(served.base_url.removesuffix("/v1") + "/health", timeout=10) as answer:
        said = json.load(answer)
    assert (said["encoder"], said["width"]) == ("siglip2", 32)
    assert said["device"] in ("cpu", "cuda")


def test_texts_by_the_openai_client(served, siglip2_folder):
    texts = ["a red bus", "Where is the station", "a red bus"] * 40
    with openai.OpenAI(base_url=served.base_url, api_key="unused", max_retries=0, timeout=60) as client:
        reply = client.embeddings.create(model="siglip2", input=texts)  # the client asks for base64
    found = np.array([row.embedding for row in reply.data])
    assert np.allclose(found[:3], SigLip2(siglip2_folder).texts(texts[:3]), atol=ROUNDED)
    assert found.shape == (120, 32)
    assert reply.usage.prompt_tokens == 40 * (3 + 4 + 3)
    status, plain = post(served.base_url + "/embeddings", {"model": "siglip2", "input": texts[0]})
    assert status == 200
    assert np.allclose(plain["data"][0]["embedding"], found[0], atol=1e-7)


def test_an_image_is_its_whole_and_four_tiles(served, siglip2_folder, picture):
    image = picture("total 3", size=(80, 56))
    status, reply = post(served.base_url + "/image_embeddings", images_body(image, image))
    assert status == 200
    assert (reply["model"], reply["width"], reply["tiles"]) == ("siglip2", 32, 5)
    one, other = vectors(reply)
    assert (one == other).all()
    frame = decode(image)[1]
    crops = [frame, frame[:35, :50], frame[:35, 30:], frame[21:, :50], frame[21:, 30:]]
    assert np.allclose(one, SigLip2(siglip2_folder).images(crops), atol=ROUNDED)
    status, reply = post(served.base_url + "/image_embeddings", images_body(image, tiling="whole"))
    assert reply["tiles"] == 1
    assert np.allclose(vectors(reply)[0], one[:1], atol=ROUNDED)


def test_requests_at_once_get_what_they_would_get_alone(served, picture):
    images = [picture(str(number), size=(40 + 7 * number, 64)) for number in range(12)]
    url = served.base_url + "/image_embeddings"
    alone = [vectors(post(url, images_body(image))[1])[0] for image in images]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda n: vectors(post(url, images_body(images[n], images[-1 - n]))[1]), range(12)))
    for number, (first, second) in enumerate(together):
        assert np.abs(first - alone[number]).max() <= ROUNDED
        assert np.abs(second - alone[-1 - number]).max() <= ROUNDED


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/image_embeddings", b"{half", 400, "not JSON"),
        ("/image_embeddings", {"model": "siglip2", "tiling": "3x3", "images": ["AAAA"]}, 400, "tiling"),
        ("/image_embeddings", {"model": "siglip2", "tiling": "whole", "images": []}, 400, "images"),
        ("/image_embeddings", {"model": "siglip2", "tiling": "whole", "images": ["AAAA"] * 65}, 400, "images"),
        ("/image_embeddings", {"model": "other", "tiling": "whole", "images": ["AAAA"]}, 404, "other"),
        ("/embeddings", {"model": "siglip2", "input": "a", "dimensions": 8}, 400, "siglip2 gives 32"),
        ("/embeddings", {"model": "siglip2", "input": []}, 400, "empty list"),
        ("/maxsim", {"model": "siglip2", "index": "/no/such", "queries": ["a"], "rows": [[0]]}, 400, "is no index"),
        ("/maxsim", {"model": "siglip2", "index": "/no/such", "queries": ["a"], "rows": []}, 400, "0 lists for 1"),
        ("/nothing", {}, 404, "/v1/nothing"),
    ],
)
def test_a_faulty_request_is_told_in_one_line(served, path, body, status, words):
    code, reply = post(served.base_url + path, body)
    assert code == status
    assert words in reply["error"]["message"]
    assert "\n" not in reply["error"]["message"]


def test_an_image_that_does_not_decode_is_named_by_its_place(served, picture):
    good = picture("1")
    url = served.base_url + "/image_embeddings"
    for bad in (b"no image at all", good[:120], good[: len(good) // 2]):
        status, reply = post(url, images_body(good, good, bad, b"other"))
        assert status == 400
        assert reply["error"]["message"].startswith("images.2: image of ")
        assert reply["error"]["param"] == "images.2"
    assert post(url, {**images_body(good), "images": ["@@"]})[1]["error"]["message"] == "images.0: not base64"
    assert post(url, images_body(good))[0] == 200


def test_a_body_over_the_limit_is_413(served, siglip2_folder, monkeypatch):
    monkeypatch.setattr("benchsuite.models.embedded.vectors.MAX_TEXT_BYTES", 1000)
    client = TestClient(build_app(SigLip2(siglip2_folder), "n"))
    answer = client.post("/v1/embeddings", json={"model": "siglip2", "input": "a" * 1000})
    assert answer.status_code == 413
    assert "over the limit of 1000" in answer.json()["error"]["message"]
    assert client.post("/v1/embeddings", json={"model": "siglip2", "input": "a"}).status_code == 200


def write_index(folder, rows):
    folder.mkdir(exist_ok=True)
    (folder / "index.json").write_text(json.dumps({"width": rows.shape[2], "tiles": rows.shape[1]}))
    (folder / "vectors.f32").write_bytes(rows.astype("<f4").tobytes())


def test_maxsim_is_the_best_tile_of_each_row_asked_for(served, siglip2_folder, tmp_path):
    source = np.random.default_rng(5)
    rows = source.normal(size=(30, 5, 32))
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    write_index(tmp_path / "index", rows[:20])
    queries = ["a red bus", "where is the cat"]
    body = {"model": "siglip2", "index": str(tmp_path / "index"), "queries": queries, "rows": [[3, 0, 19], [7]]}
    status, reply = post(served.base_url + "/maxsim", body)
    assert status == 200
    brute = (
        (SigLip2(siglip2_folder).texts(queries).astype(np.float64) @ rows.reshape(-1, 32).T).reshape(2, 30, 5).max(2)
    )
    assert np.allclose(reply["scores"][0], brute[0, [3, 0, 19]], atol=1e-4)
    assert np.allclose(reply["scores"][1], brute[1, [7]], atol=1e-4)
    assert reply["device"] in ("cpu", "cuda")
    status, reply = post(served.base_url + "/maxsim", {**body, "rows": [[25], []]})
    assert status == 400
    assert "25 asked for" in reply["error"]["message"]

    write_index(tmp_path / "index", rows)  # others appended
    with (tmp_path / "index" / "vectors.f32").open("ab") as file:
        file.write(b"\0" * 100)  # an image that is being written
    status, reply = post(served.base_url + "/maxsim", {**body, "rows": [[25], []]})
    assert status == 200
    assert np.allclose(reply["scores"][0], brute[0, [25]], atol=1e-4)
    assert reply["scores"][1] == []
    assert post(served.base_url + "/maxsim", {**body, "rows": [[30], []]})[0] == 400
    assert post(served.base_url + "/maxsim", {**body, "rows": [[-1], []]})[0] == 400
    write_index(tmp_path / "other", rows[:, :, :16])
    status, reply = post(served.base_url + "/maxsim", {**body, "index": str(tmp_path / "other")})
    assert status == 400
    assert "has vectors of 16, the encoder gives 32" in reply["error"]["message"]


def test_bge_is_served_and_refuses_images(bge_folder, picture):
    client = TestClient(build_app(load_encoder("bge-small-en-v1.5", bge_folder), "n"))
    answer = client.post("/v1/embeddings", json={"model": "bge-small-en-v1.5", "input": ["a cat", "a cat"]})
    assert answer.status_code == 200
    assert [len(row["embedding"]) for row in answer.json()["data"]] == [32, 32]
    answer = client.post("/v1/image_embeddings", json=images_body(picture("1"), model="bge-small-en-v1.5"))
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "bge-small-en-v1.5 encodes texts, not images"


def test_an_encoder_that_cannot_be_loaded_ends_with_one_line(siglip2_folder, bge_folder, tmp_path):
    spec = parse_encoder("image", f"siglip2:{siglip2_folder}", tmp_path).server
    swapped = replace(spec, model=f"siglip2:{bge_folder}")  # the folder changed after it was looked at
    server = launch_server(swapped, tmp_path / "server.log")
    with pytest.raises(EndpointError) as caught:
        server.wait_ready()
    assert caught.value.kind == "launch"
    assert str(caught.value).startswith(f"{spec.family}: the server died (exit status 4); last log line: benchsuite: ")
    assert "says model_type 'bert', siglip2 is made from 'siglip'" in str(caught.value)


def test_the_reader_serves_the_two_bundled_encoders(reader, picture):
    lines = ["Harbour Toys, wooden train", "Blood pressure 120 over 80"]
    status, reply = post(
        reader.base_url + "/image_embeddings",
        images_body(*(picture(line, size=(360, 200)) for line in lines), picture(), model="ocr-minilm"),
    )
    assert status == 200
    assert (reply["width"], reply["tiles"], reply["device"]) == (384, 5, "cpu")
    found = vectors(reply)
    asked = {"input": ["What was my blood pressure?"], "encoding_format": "base64"}
    replies = {
        model: post(reader.base_url + "/embeddings", {**asked, "model": model})[1]
        for model in ("ocr-minilm", "minilm", "all-MiniLM-L6-v2")
    }
    (packed,) = {reply["data"][0]["embedding"] for reply in replies.values()}
    query = np.frombuffer(base64.b64decode(packed), "<f4")
    scores = [(each @ query).max() for each in found]
    assert scores[1] > scores[0] > scores[2] == 0
    status, reply = post(reader.base_url + "/image_embeddings", images_body(picture("1"), model="minilm"))
    assert (status, reply["error"]["message"]) == (400, "minilm encodes texts, not images")
