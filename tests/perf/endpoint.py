"""A loopback chat endpoint that answers after LATENCY seconds, CAP requests at once; the rest queue.

usage: endpoint.py LATENCY CAP [REPLY]; prints its port. GET /stats gives and resets {"served", "peak", "span_s"}: the
span is from the first request since then to the last reply.
"""

import asyncio
import json
import os
import sys
import threading
import time

LATENCY_S, CAP = float(sys.argv[1]), int(sys.argv[2])
TEXT = sys.argv[3] if len(sys.argv) > 3 else "The answer is 42."
REPLY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "mock",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": TEXT}}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 14, "total_tokens": 914},
    }
).encode()


def response(body: bytes) -> bytes:
    return (b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)) + body


class Gate:
    def __init__(self) -> None:
        self.slots = asyncio.Semaphore(CAP)
        self.served = self.waiting = self.peak = 0
        self.begun = self.ended = 0.0

    def stats(self) -> dict[str, float]:
        return {"served": self.served, "peak": self.peak, "span_s": self.ended - self.begun}


class Talk(asyncio.Protocol):
    """The smallest HTTP/1.1 server that keeps a connection and knows content-length."""

    def __init__(self, gate: Gate) -> None:
        self.gate, self.buffer = gate, bytearray()

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.buffer[:end]).lower()
            length = next((int(h[15:]) for h in head.split(b"\r\n") if h.startswith(b"content-length:")), 0)
            if len(self.buffer) < end + 4 + length:
                return
            del self.buffer[: end + 4 + length]
            if head.startswith(b"get /stats"):
                gate = self.gate
                self.transport.write(response(json.dumps(gate.stats()).encode()))
                gate.served = gate.peak = 0
                gate.begun = gate.ended = 0.0
            else:
                task = asyncio.ensure_future(self.answer())
                task.add_done_callback(lambda done: done.exception())

    async def answer(self) -> None:
        gate = self.gate
        gate.waiting += 1
        gate.begun = gate.begun or time.perf_counter()
        gate.peak = max(gate.peak, gate.waiting)
        async with gate.slots:
            await asyncio.sleep(LATENCY_S)
        gate.waiting -= 1
        gate.served += 1
        if not self.transport.is_closing():
            self.transport.write(response(REPLY))
        gate.ended = time.perf_counter()


async def main() -> None:
    gate = Gate()
    server = await asyncio.get_running_loop().create_server(lambda: Talk(gate), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()
asyncio.run(main())
