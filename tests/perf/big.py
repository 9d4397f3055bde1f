"""`make perf-size`: a 256k-length file of 700 MB over its subset of 195 questions, indexed and run at `-n 2`.

Memory is the resident size summed over the controller and its workers, sampled every 0.05 s (shared pages count in
each); served processes have a session of their own and are left out. A loopback endpoint answers after 50 ms.

`recency 72` sends 9 pictures of the size of photos a question, `full` 1 MB of text. Arms that rank by vectors are left
out: the reader would embed 150,000 messages first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image, ImageChops

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = os.sysconf("SC_PAGE_SIZE")
BAR_MIB = 1500


def session_bytes(leader: int) -> int:
    """Resident bytes, now, of the processes of the session that ``leader`` leads."""
    total = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            total += int(stat[21]) * PAGE if int(stat[3]) == leader else 0
    return total


def measured(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak MiB. Ends this program when the command fails."""
    begun, peak = time.perf_counter(), 0
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        while process.poll() is None:
            peak = max(peak, session_bytes(process.pid))
            time.sleep(0.05)
        wall = time.perf_counter() - begun
        if process.returncode:
            output.seek(0)
            sys.exit(f"{' '.join(command)}: exit {process.returncode}\n{output.read()[-2000:]}")
    return wall, peak / 2**20


def draw_pictures(root: Path) -> None:
    """Replace every picture by one that costs what a photo costs: 1024 x 768 pixels, 0.7 MB as a PNG of 768."""
    noise = Image.effect_noise((1024, 768), 12)
    for number, path in enumerate(sorted(root.rglob("*.png"))):
        smooth = Image.effect_noise((16, 12), 90).resize((1024, 768), Image.Resampling.BICUBIC)
        shifted = ImageChops.offset(noise, 7 * number, 0)
        bands = ImageChops.add(smooth, shifted, 2), smooth, ImageChops.subtract(smooth, shifted, 2, 128)
        Image.merge("RGB", bands).save(path, compress_level=1)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=int, default=700)
    options.add_argument("--questions", type=int, default=789)
    options.add_argument("--subset", type=int, default=195)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "dataset_256k.json"
        writer = [sys.executable, "-m", "tests.corpus.big_file", str(path)]
        for name in ("megabytes", "questions", "subset"):
            writer += [f"--{name}", str(getattr(given, name))]
        subprocess.run(writer, cwd=ROOT, check=True)
        draw_pictures(path.parent / "release_images")
        server = subprocess.Popen(
            [sys.executable, str(HERE / "endpoint.py"), "0.05", "64"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdin is not None
        assert server.stdout is not None
        port = int(server.stdout.readline())
        pytest = [sys.executable, "-m", "pytest", "cases/memlens/test_delivery.py", "-q", "-p", "no:cacheprovider"]
        pytest += ["--bench-corpus", f"memlens={path}#agent_subset_{given.subset}"]
        pytest += ["--bench-model", f"http://127.0.0.1:{port}#mock", "--bench-dir", f"{temporary}/bench"]
        size = path.stat().st_size / 1e6
        wall, peak = measured([*pytest, "--collect-only", "-n", "0"])
        print(
            f"index                       {size:5.0f} MB  {size / wall:4.0f} MB/s  {wall:6.1f} s  {peak:6.0f} MiB peak"
        )
        for retrieval, k, delivery in (("recency", 72, "noimg,pixels"), ("full", 10, "noimg"), ("full", 10, "pixels")):
            axes = [f"retrieval={retrieval}", f"k={k}", f"delivery={delivery}"]
            wall, run_peak = measured([*pytest, "-n", "2", *(word for axis in axes for word in ("--bench-axis", axis))])
            what = f"{retrieval} {k} {delivery}"
            print(f"{what:27} {given.subset:5} questions  {wall:6.1f} s  {run_peak:6.0f} MiB peak")
            peak = max(peak, run_peak)
        server.stdin.close()
        server.wait(timeout=5)
    if peak > BAR_MIB:
        sys.exit(f"over {BAR_MIB} MiB")


if __name__ == "__main__":
    main()
