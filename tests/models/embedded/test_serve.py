"""The served reader over real HTTP: OpenAI's shapes, errors, determinism, and how the process ends."""

from __future__ import annotations

import base64
import json
import random
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

from benchsuite.models.embedded import EMBEDDED_VERSION

ROOT = Path(__file__).resolve().parents[3]
BAKERY = [("Subtotal", "$31.10"), ("Service", "$4.20"), ("Total", "$35.30")]
HARDWARE = [("Subtotal", "$11.10"), ("Service", "$1.65"), ("Total", "$12.75")]


@pytest.fixture(scope="module")
def client(served: Any) -> Any:
    with openai.OpenAI(base_url=served.base_url + "/v1", api_key="unused", max_retries=0, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def items(draw: Any) -> list[tuple[str, bytes | None]]:
    return [
        ("Lunch at the Corner Bakery.", draw.slip("Corner Bakery", BAKERY)),
        ("And the hardware store.", draw.slip("Miller Hardware", HARDWARE)),
        ("My bicycle has 21 gears.", None),
    ]


def post(url: str, body: Any) -> tuple[int, bytes]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data), timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_health_tells_the_nonce(served: Any) -> None:
    with urllib.request.urlopen(served.base_url + "/health", timeout=10) as answer:
        assert json.load(answer) == {"nonce": served.nonce, "version": EMBEDDED_VERSION}


def test_models(client: Any) -> None:
    assert {m.id for m in client.models.list()} == {"embedded", "embedded-forced", "all-MiniLM-L6-v2"}


def test_chat_by_the_openai_client(client: Any, body: Any, items: Any) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    reply = client.chat.completions.create(**body("What is the total on the Corner Bakery slip?", items), tools=[tool])
    assert reply.choices[0].message.content == "$35.30"
    assert reply.choices[0].message.role == "assistant"
    assert reply.choices[0].finish_reason == "stop"
    assert (reply.model, reply.system_fingerprint) == ("embedded", f"embedded/{EMBEDDED_VERSION}")


def test_refusing_and_forced_are_two_models(client: Any, body: Any, items: Any) -> None:
    question = "What is the wifi password at Granny Olsen?"
    refusing = client.chat.completions.create(**body(question, items))
    forced = client.chat.completions.create(**body(question, items, model="embedded-forced"))

    assert refusing.choices[0].message.content == "Not stated here"
    assert forced.choices[0].message.content not in ("Not stated here", "")


def test_usage_counts_wordpieces_and_patches(client: Any, body: Any, draw: Any) -> None:
    image = draw.slip("Corner Bakery", BAKERY)  # 460 x 234 pixels: 15 x 8 patches
    bare = client.chat.completions.create(**body("What is the total?", [("Lunch.", None)])).usage
    full = client.chat.completions.create(**body("What is the total?", [("Lunch.", image)])).usage

    assert full.prompt_tokens - bare.prompt_tokens == 15 * 8
    assert full.total_tokens == full.prompt_tokens + full.completion_tokens
    one = client.chat.completions.create(
        model="embedded-forced",
        messages=[{"role": "user", "content": "seven plain words stand in this line"}],
    )
    assert one.usage.prompt_tokens == 7


def test_embeddings_as_base64_and_as_floats(client: Any, served: Any) -> None:
    texts = ["a red bicycle", "the total is 14", "a red bicycle"]
    packed = client.embeddings.create(model="all-MiniLM-L6-v2", input=texts)  # the client asks for base64
    status, raw = post(served.base_url + "/v1/embeddings", {"model": "all-MiniLM-L6-v2", "input": texts})
    plain = json.loads(raw)

    assert status == 200
    assert [d["index"] for d in plain["data"]] == [0, 1, 2]
    vectors = np.array([d["embedding"] for d in plain["data"]])
    assert vectors.shape == (3, 384)
    assert np.allclose(vectors, [d.embedding for d in packed.data], atol=1e-7)
    assert (vectors[0] == vectors[2]).all()
    assert plain["usage"] == {"prompt_tokens": 10, "total_tokens": 10}
    status, raw = post(
        served.base_url + "/v1/embeddings",
        {"model": "all-MiniLM-L6-v2", "input": "a red bicycle", "encoding_format": "base64"},
    )
    packed_one = base64.b64decode(json.loads(raw)["data"][0]["embedding"])
    assert np.allclose(np.frombuffer(packed_one, "<f4"), vectors[0], atol=1e-7)


def test_an_unknown_model_is_404(client: Any) -> None:
    with pytest.raises(openai.NotFoundError, match="gpt-x") as chat:
        client.chat.completions.create(model="gpt-x", messages=[{"role": "user", "content": "Hello"}])
    assert chat.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="embedded", input="x")


def _with_image(url: str) -> dict[str, Any]:
    block = {"type": "image_url", "image_url": {"url": url}}
    return {"model": "embedded", "messages": [{"role": "user", "content": [block]}]}


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/v1/chat/completions", b"{half", "not JSON"),
        ("/v1/chat/completions", b"\xff\xfe", "not JSON"),
        ("/v1/chat/completions", [], "body"),
        ("/v1/chat/completions", {"model": "embedded"}, "messages"),
        ("/v1/chat/completions", {"model": "embedded", "messages": []}, "messages"),
        (
            "/v1/chat/completions",
            {"model": "embedded", "messages": [{"role": "king", "content": ""}]},
            "role",
        ),
        (
            "/v1/chat/completions",
            {"model": "embedded", "messages": [{"role": "user", "content": 5}]},
            "content",
        ),
        ("/v1/chat/completions", {**_with_image("x"), "stream": True}, "stream"),
        ("/v1/chat/completions", _with_image("http://127.0.0.1/a.png"), "data URIs"),
        ("/v1/chat/completions", _with_image("data:image/png;base64,@@"), "not base64"),
        ("/v1/chat/completions", _with_image("data:image/png;base64,AAAA"), "cannot be decoded"),
        ("/v1/embeddings", {"model": "all-MiniLM-L6-v2", "input": []}, "empty list"),
        ("/v1/embeddings", {"model": "all-MiniLM-L6-v2", "input": [[1, 2]]}, "input"),
        ("/v1/embeddings", {"model": "all-MiniLM-L6-v2"}, "input"),
    ],
)
def test_a_malformed_body_is_400(served: Any, path: str, body: Any, words: str) -> None:
    status, raw = post(served.base_url + path, body)
    error = json.loads(raw)["error"]
    assert status == 400
    assert error["type"] == "invalid_request_error"
    assert words in error["message"]
    assert "\n" not in error["message"]


def test_other_paths_are_404_in_the_same_shape(served: Any) -> None:
    status, raw = post(served.base_url + "/v1/completions", {})
    assert status == 404
    assert "/v1/completions" in json.loads(raw)["error"]["message"]


def test_strange_text_is_answered_not_a_fault(client: Any) -> None:
    for text in ("", "   \n", "\x00\u202e?", "Question:", "(" * 4000, "é" * 3000, "question: " * 50):
        messages = [{"role": "user", "content": text}]
        reply = client.chat.completions.create(model="embedded", messages=messages)
        assert reply.choices[0].message.content


def test_a_lone_surrogate_is_read_as_a_question_mark(served: Any) -> None:
    message = b'{"role": "user", "content": "a \\ud800 b\\nQuestion: a"}'
    raw_body = b'{"model": "embedded-forced", "messages": [' + message + b"]}"
    status, raw = post(served.base_url + "/v1/chat/completions", raw_body)
    assert status == 200
    assert json.loads(raw)["choices"][0]["message"]["content"] == "a ?"


def test_equal_requests_give_equal_bytes_in_any_order(served: Any, start: Any, body: Any, draw: Any) -> None:
    shops = ["Corner Bakery", "Miller Hardware", "Harbour Toys", "Green Grocer"]
    slips = [
        (f"I was at {shop}.", draw.slip(shop, [("Subtotal", f"${9 + n}.40"), ("Total", f"${12 + n}.85")]))
        for n, shop in enumerate(shops)
    ]
    requests = [
        body(f"What is the {label} at {shop}?", slips[: 2 + n % 3], model=model)
        for n, shop in enumerate(shops)
        for label in ("total", "subtotal", "opening time")
        for model in ("embedded", "embedded-forced")
    ]
    url = "/v1/chat/completions"
    serial = [post(served.base_url + url, request) for request in requests]
    assert all(status == 200 for status, _ in serial)

    fresh = start("fresh")  # nothing cached: OCR and vectors are made in another order and at once
    try:
        order = list(range(len(requests)))
        random.Random(7).shuffle(order)
        with ThreadPoolExecutor(8) as pool:
            shuffled = dict(zip(order, pool.map(lambda n: post(fresh.base_url + url, requests[n]), order), strict=True))
    finally:
        fresh.process.kill()
        fresh.process.wait()
    assert [shuffled[n] for n in range(len(requests))] == serial


def test_the_process_ends_when_its_stdin_does(start: Any) -> None:
    server = start("one")
    server.process.send_signal(signal.SIGINT)  # ignored
    with urllib.request.urlopen(server.base_url + "/health", timeout=10) as answer:
        assert json.load(answer)["nonce"] == "one"
    server.process.stdin.close()
    assert server.process.wait(timeout=2) == 0


def test_sigterm_ends_it_at_once(start: Any) -> None:
    server = start("two")
    server.process.terminate()
    assert server.process.wait(timeout=2) == -signal.SIGTERM


def test_a_taken_port_is_one_line(served: Any) -> None:
    port = served.base_url.rsplit(":", 1)[1]
    code = "import sys; from benchsuite.models.embedded import serve; sys.exit(serve.serve_command(sys.argv[1:]))"
    ran = subprocess.run(
        [sys.executable, "-c", code, "--port", port], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stdout) == (4, "")
    assert ran.stderr.startswith(f"benchsuite: serve: port {port} on 127.0.0.1: ")
    assert ran.stderr.count("\n") == 1
