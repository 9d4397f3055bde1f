"""A served encoder as a client sees it: found at the first request, one connection pool, one clear error."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp

from benchsuite.errors import EndpointError
from benchsuite.models.reply import server_words

TIMEOUT_S = 600  # a batch of large images on one core, behind the batches of other workers


class EncoderServer:
    """Posts to the server that ``locate`` names by its base URL, starting it if needed.

    ``device`` is what the server last said that it runs on; empty until it has answered.
    """

    def __init__(self, locate: Callable[[], Awaitable[str]]) -> None:
        self._locate = locate
        self._session: aiohttp.ClientSession | None = None
        self.device = ""

    async def post(self, path: str, body: bytes) -> tuple[str, dict[str, Any]]:
        """The URL asked and the JSON object of the reply. Raises EndpointError."""
        url = f"{await self._locate()}{path}"
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_S))
        try:
            headers = {"Content-Type": "application/json"}
            async with self._session.post(url, data=body, headers=headers) as response:
                if response.status != 200:
                    words = server_words(await response.read(), "")
                    raise EndpointError("http", url, words, response.status)
                reply = json.loads(await response.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise EndpointError("transport", url, f"{type(error).__name__}: {error}") from None
        except ValueError as error:
            raise EndpointError("body", url, f"not JSON: {error}") from None
        if not isinstance(reply, dict):
            raise EndpointError("body", url, f"not an object but {type(reply).__name__}")
        self.device = str(reply.get("device", self.device))
        return url, reply

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
