"""`make perf`: 10,000 certificates, their 20,000 skeleton lines of 40 parts and more parsed in the same seconds.

The requests are rendered: ten messages with ten images, dates and tags, under pairs of deliveries that differ in
tags, dates, the image, its presence, its order or nothing. Nothing is asked of pixels. One core, processor time.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from functools import cache

from benchsuite.corpus.model import Image, Item, Query
from benchsuite.delivery.arrange import all_slots, arrange, with_decoys
from benchsuite.delivery.certificates.certify import Sent, certify, variables
from benchsuite.delivery.images import ImageSlot, scaled_size
from benchsuite.delivery.protocol import bundled_protocol
from benchsuite.delivery.render import render
from benchsuite.delivery.spec import Delivery, parse_delivery, register
from benchsuite.delivery.stamp import stamp_box
from benchsuite.models.wire import Request, WireImage, sha256_text, skeleton

CERTIFICATES, QUESTIONS, BAR_S = 10_000, 50, 10.0
PAIRS = (
    ("deployed", "deployed+notag"),
    ("deployed", "deployed+tagshuf"),
    ("deployed", "deployed+tagconst"),
    ("deployed", "deployed+dateperm"),
    ("deployed", "deployed+noimg"),
    ("deployed", "deployed+scramble"),
    ("deployed", "deployed+decoy"),
    ("deployed", "deployed+bindshuf"),
    ("deployed", "deployed+conv"),
    ("deployed", "pixels"),
    ("deployed", "deployed"),
)


class Presets(dict[str, Delivery]):
    def delivery(self, name: str, value: Delivery) -> None:
        self[name] = value


def image(number: int) -> Image:
    return Image(sha256_text(f"image {number}"), "", "image/png", 640 + number % 9, 480, 9)


def items(question: int) -> list[Item]:
    return [
        Item(
            f"turn-{question}-{n}", (), "user", f"Text {question} {n} <image>", (image(10 * question + n),), f"2024/{n}"
        )
        for n in range(10)
    ]


def wire(slot: ImageSlot, delivery: Delivery) -> WireImage:
    """The record that a desk would make of the image, without making it."""
    size = scaled_size(*((slot.replaces or slot.image).width, (slot.replaces or slot.image).height), delivery.side)
    if slot.untreated:
        return WireImage(slot.image.sha256, slot.image.sha256, "image/png", *size)
    steps, params = ["png/1"], {"side": delivery.side, **({"control": slot.control} if slot.control else {})}
    if slot.control:
        steps.append(f"{slot.control}/1")
    if slot.seed:
        params["seed"] = slot.seed
    if slot.replaces:
        params |= {"replaces": slot.replaces.sha256, "width": size[0], "height": size[1]}
    if slot.tag:
        steps.append("stamp/1")
        frame = slot.frame if slot.frame != slot.tag else ""
        box = "0,0,{},{}".format(*stamp_box(*size, slot.frame or slot.tag))
        params |= {"tag": slot.tag, **({"frame": frame} if frame else {}), "box": box}
    return WireImage(
        sha256_text(slot.key), slot.image.sha256, "image/png", *size, "+".join(steps), tuple(params.items())
    )


def lines(presets: Presets) -> Iterator[tuple[str, dict[str, object]]]:
    """Record and row of each side of each pair."""
    protocol, decoys = bundled_protocol("memlens"), [image(-n) for n in range(1, 11)]

    @cache
    def line(question: int, text: str, second: bool) -> tuple[str, dict[str, object]]:
        delivery = parse_delivery(text, presets)
        history = items(question)
        ranked = history if delivery.order == "conv" else [history[(7 * n) % 10] for n in range(10)]
        placed = arrange(ranked, delivery, f"{question}", history)
        if delivery.modality == "decoy":
            placed = with_decoys(placed, decoys)
        sent = {slot.key: wire(slot, delivery) for slot in all_slots(placed)}
        messages = render(placed, Query(f"Question {question}"), delivery, protocol, sent, len(history))
        request = Request("model", messages, {"temperature": 0, "max_tokens": 1024})
        row: dict[str, object] = {
            **{"arm.delivery": text, "arm.retrieval": "text", "arm.k": 10, "arm.model": "model"},
            **{
                "arm.repeat": int(second and text == "deployed"),
                "question": f"q{question}",
                "corpus": "",
                "requests": [],
            },
            **{"usage.prompt": 900, "image_tokens": 300, "n_missing": 0, "model_served": "model", "fingerprint": ""},
        }
        return json.dumps({"cell": "c", "role": "answer", **skeleton(f"{question} {text} {second}", request)}), row

    for number in range(CERTIFICATES):
        pair = PAIRS[number % len(PAIRS)]
        yield line(number % QUESTIONS, pair[0], False)
        yield line(number % QUESTIONS, pair[1], True)


def main() -> None:
    presets = Presets()
    register(presets)  # type: ignore[arg-type]
    deliveries = cache(lambda text: parse_delivery(text, presets))
    found = list(lines(presets))
    parts = [sum(len(message[1]) for message in json.loads(line)["messages"]) for line, _ in found[:22]]
    matched = altered = 0
    begun = time.process_time()
    for (line, row), (other_line, other_row) in zip(found[::2], found[1::2], strict=True):
        a, b = Sent(json.loads(line), row), Sent(json.loads(other_line), other_row)
        made = certify(a, b, variables(row, other_row, deliveries), deliveries)
        matched += made.matched
        altered += made.altered
    taken = time.process_time() - begun
    begun = time.process_time()
    for line, _ in found:
        json.loads(line)
    parsing = time.process_time() - begun
    print(
        f"certificates: {CERTIFICATES} in {taken:.2f} s, {CERTIFICATES / taken:.0f} a second, bar {BAR_S:.0f} s; "
        f"parsing alone {parsing:.2f} s for {len(found)} lines of {min(parts)} to {max(parts)} parts; "
        f"matched {matched}, altered {altered}"
    )
    if taken > BAR_S or matched < CERTIFICATES or altered < CERTIFICATES:
        sys.exit("certificates: over the bar, or not all matched and altered")


if __name__ == "__main__":
    main()
