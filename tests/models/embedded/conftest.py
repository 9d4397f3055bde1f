"""Drawn images, requests and a served reader for the tests of this folder."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from benchsuite.models.embedded.app import ReaderService

ROOT = Path(__file__).resolve().parents[3]
INSTRUCTION = 'Use the messages only. If they do not hold the answer, reply "Not stated here".'

Rows = Sequence[tuple[str, str]]


def draw_slip(title: str, rows: Rows, width: int = 460) -> bytes:
    """A slip with a title and rows of a left label and a right-aligned value, as PNG bytes."""
    image = Image.new("RGB", (width, 120 + 38 * len(rows)), "#fbfaf4")
    pen = ImageDraw.Draw(image)
    pen.text((width / 2, 62), title, font=ImageFont.load_default(28), fill="#222222", anchor="mm")
    for n, (label, value) in enumerate(rows):
        y = 112 + 38 * n
        pen.text((36, y), label, font=ImageFont.load_default(20), fill="#333333", anchor="lm")
        pen.text((width - 36, y), value, font=ImageFont.load_default(20), fill="#333333", anchor="rm")
    return _png(image)


def draw_cards(title: str, rows: Rows, columns: int = 2) -> bytes:
    """A grid of cards, each a small grey label above a large value, as PNG bytes."""
    lines = -(-len(rows) // columns)
    image = Image.new("RGB", (240 * columns + 20, 120 + 120 * lines), "#eef1f6")
    pen = ImageDraw.Draw(image)
    pen.text((30, 70), title, font=ImageFont.load_default(26), fill="#111111", anchor="lm")
    for n, (label, value) in enumerate(rows):
        x, y = 20 + 240 * (n % columns), 110 + 120 * (n // columns)
        pen.rounded_rectangle((x, y, x + 220, y + 100), 10, fill="white")
        pen.text((x + 18, y + 28), label, font=ImageFont.load_default(17), fill="#667788", anchor="lm")
        pen.text((x + 18, y + 66), value, font=ImageFont.load_default(28), fill="#111111", anchor="lm")
    return _png(image)


def draw_bars(title: str, rows: Sequence[tuple[str, int]]) -> bytes:
    """A bar chart with the number above each bar and the category below, as PNG bytes."""
    image = Image.new("RGB", (110 * len(rows) + 60, 400), "white")
    pen = ImageDraw.Draw(image)
    pen.text((image.width / 2, 64), title, font=ImageFont.load_default(24), fill="black", anchor="mm")
    top = max(value for _, value in rows)
    for n, (label, value) in enumerate(rows):
        x, height = 50 + 110 * n, 200 * value / top
        pen.rectangle((x, 350 - height, x + 60, 350), fill="#4a7ebb")
        pen.text((x + 30, 335 - height), str(value), font=ImageFont.load_default(18), fill="black", anchor="mm")
        pen.text((x + 30, 372), label, font=ImageFont.load_default(18), fill="black", anchor="mm")
    return _png(image)


def _png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


@dataclass(frozen=True)
class Draw:
    slip: Callable[..., bytes] = draw_slip
    cards: Callable[..., bytes] = draw_cards
    bars: Callable[..., bytes] = draw_bars


def chat_body(question: str, items: Sequence[tuple[str, bytes | None]], model: str = "embedded") -> dict[str, Any]:
    """A request in the form of a rendered delivery: head, items with a role line, question at the end."""
    content: list[dict[str, Any]] = [{"type": "text", "text": "Messages from earlier conversations:\n"}]
    for n, (text, image) in enumerate(items, start=1):
        content.append({"type": "text", "text": f"\n[{n}] user:\n{text}\n"})
        if image is not None:
            url = "data:image/png;base64," + base64.b64encode(image).decode()
            content.append({"type": "image_url", "image_url": {"url": url}})
    content.append({"type": "text", "text": f"\nQuestion date: 2024/05/06\nQuestion: {question}\n"})
    messages = [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": content}]
    return {"model": model, "messages": messages, "temperature": 0, "max_tokens": 64}


@pytest.fixture(scope="session")
def draw() -> Draw:
    return Draw()


@pytest.fixture(scope="session")
def body() -> Callable[..., dict[str, Any]]:
    return chat_body


@pytest.fixture(scope="session")
def service() -> ReaderService:
    return ReaderService()


@dataclass(frozen=True)
class Served:
    process: subprocess.Popen[bytes]
    base_url: str
    nonce: str


def start_server(nonce: str) -> Served:
    command = [sys.executable, "-m", "benchsuite.models.embedded.serve", "--port", "0", "--nonce", nonce]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    line = json.loads(process.stdout.readline())
    assert line == {"ready": True, "port": line["port"], "nonce": nonce}
    return Served(process, f"http://127.0.0.1:{line['port']}", nonce)


@pytest.fixture(scope="session")
def start() -> Callable[[str], Served]:
    return start_server


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    server = start_server("session-nonce")
    yield server
    assert server.process.stdin is not None
    server.process.stdin.close()
    server.process.wait(timeout=10)
