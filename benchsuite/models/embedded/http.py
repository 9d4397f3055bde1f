"""What the served routes share: bodies with a limit, and answers in OpenAI's error shape."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

BodyT = TypeVar("BodyT", bound=BaseModel)


class ApiError(Exception):
    """An answer in OpenAI's error shape."""

    def __init__(self, status: int, message: str, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.param = status, message, code, param

    def response(self) -> JSONResponse:
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return JSONResponse({"error": error}, status_code=self.status)


def unknown_model(name: str) -> ApiError:
    return ApiError(404, f"the model {name!r} does not exist here", code="model_not_found", param="model")


async def read_body(request: Request, limit: int) -> bytes:
    """The body, ApiError 413 when it is over ``limit`` bytes; what is over is read to its end and not kept."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            parts.clear()
        else:
            parts.append(part)
    if size > limit:
        raise ApiError(413, f"body: {size} bytes is over the limit of {limit}")
    return b"".join(parts)


def parse_body(kind: type[BodyT], raw: bytes) -> BodyT:
    """The body as ``kind``. Raises ApiError 400 that names the first field at fault."""
    try:
        return kind.model_validate(json.loads(raw))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise ApiError(400, f"{where or 'body'}: {first['msg']}", param=where or None) from None
    except (ValueError, RecursionError) as error:
        raise ApiError(400, f"body: not JSON: {error}") from None


def clean_text(text: str) -> str:
    """JSON can carry half a surrogate pair; no tokenizer and no UTF-8 reply can."""
    return text.encode("utf-8", "replace").decode()


def error_handlers() -> dict[Any, Callable[[Request, Exception], Awaitable[Response]]]:
    """Starlette's ``exception_handlers``: every failure is answered in one shape."""
    return {ApiError: _on_api_error, HTTPException: _on_http_error, Exception: _on_fault}


async def _on_api_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error.response()


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return ApiError(error.status_code, f"{request.method} {request.url.path}: {error.detail}").response()


async def _on_fault(request: Request, error: Exception) -> Response:
    # the server logs the traceback; the caller gets the kind alone
    return ApiError(500, f"{type(error).__name__} in the server; its log says more").response()
