"""The limit: N chat requests from one event loop with a bare aiohttp client.

usage: bare.py PORT N CONCURRENCY
"""

import asyncio
import sys

import aiohttp

PORT, COUNT, CONCURRENCY = (int(value) for value in sys.argv[1:])


async def main() -> None:
    slots = asyncio.Semaphore(CONCURRENCY)

    async def ask(session: aiohttp.ClientSession, number: int) -> str:
        body = {
            "model": "mock",
            "temperature": 0,
            "max_tokens": 1024,
            "messages": [
                {"role": "system", "content": "Answer."},
                {"role": "user", "content": f"probe {number} " + "x" * 2000},
            ],
        }
        async with slots, session.post(f"http://127.0.0.1:{PORT}/v1/chat/completions", json=body) as response:
            text: str = (await response.json())["choices"][0]["message"]["content"]
            return text

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        answers = await asyncio.gather(*(ask(session, number) for number in range(COUNT)))
    assert len(answers) == COUNT
    assert all(answers)


asyncio.run(main())
