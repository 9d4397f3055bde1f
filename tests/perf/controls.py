"""`make perf`: the pixel controls on a 768 x 768 RGB picture, in processor time of one thread.

Measured in one run, all in turn: both controls, the plain FFT of the same three channels there and back, and the PNG
of the phase image, which is paid once for each image and seed, at two levels of compression and by run lengths alone.
``prime`` has sides that are prime numbers, the worst that an FFT can meet.
"""

from __future__ import annotations

import io
import statistics
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage

from benchsuite.delivery.transforms import difference, phase, scramble

SIDE, PRIME = 768, 761
ROUNDS = 15
PNG: Mapping[str, Mapping[str, int]] = {
    "level 1": {"compress_level": 1},
    "level 6": {"compress_level": 6},
    "run lengths": {"compress_type": zlib.Z_RLE},
}
SEED = "5eed"
BAR_MS = 150.0


def photo(side: int) -> PillowImage.Image:
    """Photograph-like: three related channels, their amplitudes falling with the frequency, and a hard-edged disc."""
    dice = np.random.default_rng(0)
    across, down = np.fft.rfftfreq(side), np.fft.fftfreq(side)[:, None]
    falling = 1 / np.maximum(np.hypot(across, down), 1 / side)
    shared = dice.standard_normal((side, side))
    y, x = np.mgrid[:side, :side]
    channels = []
    for _ in range(3):
        noise = shared + 0.3 * dice.standard_normal((side, side))
        waves = np.fft.irfft2(np.fft.rfft2(noise) * falling, s=noise.shape)
        channels.append(128 + 45 * waves / waves.std())
    pixels = np.dstack(channels)
    pixels[np.hypot(x - side / 3, y - side / 2) < side / 6] = (210, 60, 40)
    return PillowImage.fromarray(pixels.clip(0, 255).astype(np.uint8))


def fourier(picture: PillowImage.Image) -> npt.NDArray[np.float64]:
    """There and back, channel by channel, with nothing in between."""
    pixels = np.asarray(picture)
    return np.dstack([np.fft.irfft2(np.fft.rfft2(pixels[:, :, channel]), s=pixels.shape[:2]) for channel in range(3)])


def encoded(picture: PillowImage.Image, options: Mapping[str, int]) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", **options)
    return buffer.getvalue()


def milliseconds(work: Mapping[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Processor time of each call, all of ``work`` in turn, after one round that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in work}
    for count in range(ROUNDS + 1):
        for name, call in work.items():
            begun = time.thread_time()
            call()
            if count:
                taken[name].append(1000 * (time.thread_time() - begun))
    return taken


def ratio(taken: Mapping[str, list[float]], above: str, below: str) -> float:
    """The median over the rounds."""
    return statistics.median(a / b for a, b in zip(taken[above], taken[below], strict=True))


def main() -> None:
    picture, prime = photo(SIDE), photo(PRIME)
    shifted = phase(picture, SEED)
    taken = milliseconds(
        {
            "fft": lambda: fourier(picture),
            "phase": lambda: phase(picture, SEED),
            "scramble": lambda: scramble(picture, SEED),
            "prime": lambda: phase(prime, SEED),
            **{name: partial(encoded, shifted, options) for name, options in PNG.items()},
        }
    )
    median = {name: statistics.median(times) for name, times in taken.items()}
    shape = f"{SIDE}x{SIDE} RGB"
    print(
        f"controls, {shape}, processor time: phase {median['phase']:.1f} ms (most {max(taken['phase']):.1f}), "
        f"bar {BAR_MS:.0f} ms; scramble {median['scramble']:.1f} ms"
    )
    print(
        f"controls, plain FFT of the same pixels: {median['fft']:.1f} ms; ratio of phase "
        f"{ratio(taken, 'phase', 'fft'):.2f}, of scramble {ratio(taken, 'scramble', 'fft'):.2f}"
    )
    print(f"controls, phase at {PRIME}x{PRIME}: {median['prime']:.1f} ms")
    raw = SIDE * SIDE * 3
    for name, options in PNG.items():
        before, after = len(encoded(picture, options)), len(encoded(shifted, options))
        print(
            f"controls, PNG of the phase image, {name}: {median[name]:.1f} ms, {after:,} bytes "
            f"({after / raw:.0%} of the pixels; the original {before / raw:.0%})"
        )
    print(f"controls, difference of the phase image: {difference(picture, shifted):.1f} grey levels")
    if median["phase"] > BAR_MS:
        sys.exit("controls: over the bar")


if __name__ == "__main__":
    main()
