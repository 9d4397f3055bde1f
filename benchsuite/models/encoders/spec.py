"""Which encoder a channel uses: ``--bench-encoder`` values become EncoderSpecs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchsuite.errors import ConfigError
from benchsuite.models.embedded import EMBEDDED_VERSION, EMBEDDING_MODEL, OCR_ENCODER, TEXT_ENCODER
from benchsuite.models.encoders import BGE, ENCODERS_VERSION, OPEN_CLIP, SIGLIP2
from benchsuite.models.encoders.checkpoint import Checkpoint
from benchsuite.models.spec import ModelSpec, embedded_spec
from benchsuite.models.wire import sha256_text

BOTH = ("text", "image")
CHANNELS: Mapping[str, tuple[str, ...]] = {
    TEXT_ENCODER: ("text",),
    BGE: ("text",),
    OCR_ENCODER: BOTH,
    SIGLIP2: BOTH,
    OPEN_CLIP: BOTH,
}
DEFAULTS: Mapping[str, str] = {"text": TEXT_ENCODER, "image": OCR_ENCODER}
HUB_IDS: Mapping[str, str] = {BGE: "BAAI/bge-small-en-v1.5", SIGLIP2: "google/siglip2-base-patch16-384"}
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """An encoder of a run. ``name`` is the model id that requests to its ``server`` name.

    ``checkpoint`` is what its weights are called: a hub id, or a folder's name. Vectors are keyed by ``identity``:
    a sha256 over the name, the version of our code, and what its files hold.
    """

    name: str
    checkpoint: str
    identity: str
    server: ModelSpec


def parse_encoder(channel: str, value: str, cache: Path) -> EncoderSpec:
    """The encoder that ``value`` names for ``channel`` (``text`` or ``image``); the channel's default if empty.

    A value is ``NAME``, ``NAME:FOLDER`` or ``NAME:ORG/MODEL``, the last for a model of the local hub cache; nothing
    is ever downloaded. Digests of weights are kept in ``cache/encoders``. Raises ConfigError for an unknown name,
    one that cannot serve the channel, a missing extra, and a folder that Checkpoint refuses.
    """
    name, colon, place = (value or DEFAULTS[channel]).partition(":")
    said = f"encoder of channel {channel}: {value!r}"
    if name not in CHANNELS:
        raise ConfigError(f"{said}: unknown encoder {name!r}: known are {', '.join(CHANNELS)}")
    if channel not in CHANNELS[name]:
        able = ", ".join(known for known, channels in CHANNELS.items() if channel in channels)
        raise ConfigError(f"{said}: {name} encodes texts only; for the {channel} channel: {able}")
    if name in (TEXT_ENCODER, OCR_ENCODER):
        if colon:
            raise ConfigError(f"{said}: the weights of {name} come with a package, it takes no folder")
        return EncoderSpec(name, EMBEDDING_MODEL, sha256_text(f"{name}/{_bundled_version(name)}"), embedded_spec())
    if name == OPEN_CLIP and importlib.util.find_spec("open_clip") is None:
        raise ConfigError(f"{said}: open_clip is not installed: pip install 'benchsuite[clip]'")
    folder, hub_id = _folder(said, name, place)
    digest = Checkpoint(name, folder).digest(cache / "encoders")
    identity = sha256_text(f"{name}/{ENCODERS_VERSION}/{digest}")
    server = ModelSpec(
        name=name,
        model=f"{name}:{folder}",
        base_url="",
        family=f"encoder/{name}/{identity[:12]}",
        launch="encoder",
        concurrency=os.cpu_count() or 1,
    )
    return EncoderSpec(name, hub_id or folder.name, identity, server)


def _bundled_version(name: str) -> str:
    if name == TEXT_ENCODER:
        return EMBEDDED_VERSION
    return (
        f"{EMBEDDED_VERSION}/rapidocr-{importlib.metadata.version('rapidocr')}"  # whose version is that of its weights
    )


def _folder(said: str, name: str, place: str) -> tuple[Path, str]:
    """The folder of weights, as given, or where the local hub cache has the model, then with the model's id."""
    hub_id = place or HUB_IDS.get(name, "")
    if not hub_id:
        raise ConfigError(f"{said}: {name} needs a folder: {name}:FOLDER")
    folder = Path(place).expanduser() if place else None
    if folder is not None and (folder.is_dir() or not _HUB_ID.fullmatch(place)):
        return folder.resolve(), ""
    from huggingface_hub import try_to_load_from_cache

    config = "open_clip_config.json" if name == OPEN_CLIP else "config.json"
    found = try_to_load_from_cache(hub_id, config)
    if not isinstance(found, str):
        raise ConfigError(f"{said}: no folder, and the local hub cache has no {hub_id}; nothing is downloaded")
    return Path(found).parent, hub_id
