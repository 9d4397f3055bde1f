"""An encoder as a process: ``python -m benchsuite.models.encoders.serve --encoder NAME:FOLDER --port 0 --nonce X``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# before numpy and torch are imported below: they read it once
os.environ.update({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"})

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from benchsuite.errors import ConfigError
from benchsuite.models.embedded.http import error_handlers
from benchsuite.models.embedded.process import obey_launcher, parser, serve_app
from benchsuite.models.embedded.vectors import EncoderService, VectorEncoder
from benchsuite.models.encoders import BGE, ENCODERS_VERSION, OPEN_CLIP, SIGLIP2
from benchsuite.models.encoders.maxsim import MaxSim


def load_encoder(name: str, folder: Path) -> VectorEncoder:
    """The encoder with its weights. Raises ConfigError for an unknown name and for a folder it cannot use."""
    if name == BGE:
        from benchsuite.models.encoders.bge import BgeSmall

        return BgeSmall(folder)
    if name == SIGLIP2:
        from benchsuite.models.encoders.siglip2 import SigLip2

        return SigLip2(folder)
    if name == OPEN_CLIP:
        from benchsuite.models.encoders.clip import OpenClip

        return OpenClip(folder)
    raise ConfigError(f"encoder {name!r} is not served from a folder: known are {BGE}, {SIGLIP2}, {OPEN_CLIP}")


def build_app(encoder: VectorEncoder, nonce: str) -> Starlette:
    """The ASGI app of one encoder."""

    async def health(request: Request) -> JSONResponse:
        facts = {"encoder": encoder.name, "width": encoder.width, "device": encoder.device}
        return JSONResponse({"nonce": nonce, "version": ENCODERS_VERSION, **facts})

    service = EncoderService({encoder.name: encoder})
    routes = [Route("/health", health), *service.routes(), MaxSim(service).route()]
    return Starlette(routes=routes, exception_handlers=error_handlers())


def main(argv: list[str] | None = None) -> int:
    """Serve under a launcher; 4, with one line on stderr, when the encoder cannot be loaded."""
    options = parser("an encoder, under a launcher")
    options.add_argument("--encoder", required=True, metavar="NAME:FOLDER", help="what to serve")
    arguments = options.parse_args(argv)
    obey_launcher()
    name, _, folder = arguments.encoder.partition(":")
    try:
        encoder = load_encoder(name, Path(folder))
    except ConfigError as error:
        print(f"benchsuite: {error}", file=sys.stderr)
        return 4
    return serve_app(build_app(encoder, arguments.nonce), arguments.port, arguments.nonce)


if __name__ == "__main__":
    sys.exit(main())
