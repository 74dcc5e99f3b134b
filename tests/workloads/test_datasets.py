"""The three sources of images, and the download against a server on this machine."""

import gzip
import hashlib
import http.client
import os
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from told import raises
from torchvision.datasets import FashionMNIST

from bench.records.reason import Refused
from bench.text import language
from bench.text.tell import tell
from bench.workloads import datasets, mirrors
from bench.workloads.datasets import FILES, Cancelled, DataError, available, download_fashion_mnist, load

NAMES = tuple(FILES)
IMAGES, LABELS = NAMES[:2]
TRAIN, TEST = 7, 3


def idx_images(n: int, seed: int = 0, side: int = 28) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, n * side * side, dtype=np.uint8)
    return struct.pack(">4I", 0x803, n, side, side) + pixels.tobytes()


def idx_labels(n: int) -> bytes:
    return struct.pack(">2I", 0x801, n) + bytes(i % 10 for i in range(n))


def small_set() -> dict[str, bytes]:
    contents = idx_images(TRAIN), idx_labels(TRAIN), idx_images(TEST, seed=1), idx_labels(TEST)
    return dict(zip(NAMES, contents, strict=True))


def lay(folder: Path, files: dict[str, bytes], packed: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / (f"{name}.gz" if packed else name)).write_bytes(gzip.compress(content) if packed else content)
    return folder


def one_sentence(error: Refused) -> str:
    """What a reader is told, after a look that it is one sentence that offers a way on."""
    text = tell(error.reason)
    assert text.endswith(".") and ". " not in text and "\n" not in text, text
    return text


# IDX folders


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("sub", ["", "raw", "MNIST/raw", "FashionMNIST/raw"])
def test_idx_round_trip(tmp_path, packed, sub):
    files = small_set()
    lay(tmp_path / "digits" / sub, files, packed)
    images = load(str(tmp_path / "digits"))
    assert (images.name, images.label) == ("idx", "IDX files from the folder “digits”")
    for x, y, n, name in ((images.train_x, images.train_y, TRAIN, 0), (images.test_x, images.test_y, TEST, 2)):
        assert x.shape == (n, 1, 28, 28) and x.dtype == torch.float32 and x.is_contiguous()
        assert y.shape == (n,) and y.dtype == torch.int64 and y.tolist() == [i % 10 for i in range(n)]
        assert x.device.type == y.device.type == "cpu"
        assert torch.equal(
            (x * 255).round().to(torch.uint8).flatten(), torch.tensor(list(files[NAMES[name]][16:])).byte()
        )
        assert x.min() >= 0 and x.max() == 1


def test_idx_may_mix_plain_and_packed(tmp_path):
    files = small_set()
    lay(tmp_path, {IMAGES: files.pop(IMAGES)}, packed=True)
    assert len(load(lay(tmp_path, files)).train_x) == TRAIN


def test_images_keeps_the_first_and_the_whole_test_set(tmp_path):
    whole, part = load(str(lay(tmp_path, small_set()))), load(str(tmp_path), images=2)
    assert torch.equal(part.train_x, whole.train_x[:2]) and torch.equal(part.train_y, whole.train_y[:2])
    assert torch.equal(part.test_x, whole.test_x) and torch.equal(part.test_y, whole.test_y)
    assert len(load(str(tmp_path), images=TRAIN).train_x) == TRAIN


@pytest.mark.parametrize("images", [0, -1, TRAIN + 1, 2.0, True, "3"])
def test_images_out_of_range(tmp_path, images):
    with raises(DataError, match=f"{images} training images.* from 1 to {TRAIN}") as error:
        load(str(lay(tmp_path, small_set())), images=images)
    one_sentence(error.value)


def test_label_of_the_home_folder_does_not_name_the_user(tmp_path, monkeypatch):
    home = lay(tmp_path / "ada", small_set())
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    assert "ada" not in load("~").label
    lay(home / "digits", small_set())
    assert load("~/digits").label == "IDX files from the folder “digits”"


@pytest.mark.parametrize("source", ["", " ", "nowhere", "~nobody-of-that-name/x", "a\0b"])
def test_no_such_folder(tmp_path, monkeypatch, source):
    monkeypatch.chdir(lay(tmp_path, small_set()))  # "" must not mean the current folder
    with raises(DataError, match=r"no folder with IDX files.*synthetic"):
        load(source)


def test_a_missing_file_is_counted(tmp_path):
    files = small_set()
    del files[LABELS]
    with raises(DataError, match="3 of 4 found: give one with train-images") as error:
        load(str(lay(tmp_path, files)))
    one_sentence(error.value)


def header(*numbers: int, rest: bytes = b"") -> bytes:
    return struct.pack(f">{len(numbers)}I", *numbers) + rest


DAMAGED = {
    "empty": (IMAGES, b"", "header is empty"),
    "foreign": (IMAGES, b"\x89PNG\r\n\x1a\n" * 9, "header is 89504e47"),
    "header cut off": (IMAGES, header(0x803, 7), "header is"),
    "labels for images": (IMAGES, idx_labels(TRAIN), "not that of an IDX file of 28×28 images"),
    "images for labels": (LABELS, idx_images(TRAIN), "not that of an IDX file of labels"),
    "floats": (IMAGES, header(0xD03, 7, 28, 28, rest=bytes(7 * 784 * 4)), "header is 00000d03"),
    "little-endian": (LABELS, struct.pack("<2I", 0x801, TRAIN) + bytes(TRAIN), "header is 01080000"),
    "32×32": (IMAGES, idx_images(TRAIN, side=32), "28×28"),
    "no items": (IMAGES, header(0x803, 0, 28, 28), "0 items"),
    "cut off": (IMAGES, idx_images(TRAIN)[:-1], "does not fit the 7 items"),
    "too long": (IMAGES, idx_images(TRAIN) + b"x", "does not fit the 7 items"),
    "huge": (IMAGES, header(0x803, 0xFFFFFFFF, 28, 28), "does not fit the 4\u202f294\u202f967\u202f295 items"),
    "fewer labels": (LABELS, idx_labels(TRAIN - 1), "6 labels up to 5 for 7 images"),
    "label 10": (LABELS, idx_labels(TRAIN - 1)[:8].replace(b"\6", b"\7") + bytes([1, 2, 3, 4, 5, 6, 10]), "up to 10"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_idx(tmp_path, case, packed):
    name, content, why = DAMAGED[case]
    with raises(DataError, match=why) as error:
        load(str(lay(tmp_path, small_set() | {name: content}, packed)))
    text = one_sentence(error.value)
    assert str(tmp_path / name) in text and "replace it" in text and "synthetic" in text


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (lambda gz: b"", "cut off"),
        (lambda gz: gz[:-9], "cut off"),
        (lambda gz: gz[:-4], "cut off"),  # all content is there, the length at the end is not
        (lambda gz: b"not gzip at all", "cannot be unpacked"),
        (lambda gz: gz[:-8] + bytes(4) + gz[-4:], "cannot be unpacked"),
        (lambda gz: gz + b"more", "bytes behind its end"),
    ],
)
def test_damaged_gz(tmp_path, harm, why):
    path = lay(tmp_path, small_set(), packed=True) / f"{IMAGES}.gz"
    path.write_bytes(harm(path.read_bytes()))
    with raises(DataError, match=why) as error:
        load(str(tmp_path))
    assert path.name in one_sentence(error.value)


def test_a_gz_that_unpacks_without_end_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "MAX_BYTES", len(idx_images(TRAIN)))
    lay(tmp_path, small_set(), packed=True)
    assert len(load(str(tmp_path)).train_x) == TRAIN
    lay(tmp_path, {IMAGES: idx_images(TRAIN) + bytes(100_000)}, packed=True)
    with raises(DataError, match="too long"):
        load(str(tmp_path))


SMALL = {packed: {n: gzip.compress(c) if packed else c for n, c in small_set().items()} for packed in (False, True)}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_mutation_loads_or_raises_data_error(tmp_path, data):
    packed = data.draw(st.booleans())
    name = data.draw(st.sampled_from(NAMES))
    content = bytearray(SMALL[packed][name])
    for _ in range(data.draw(st.integers(0, 3))):
        # Half of the hits go into the first 32 bytes, where the headers are.
        end = data.draw(st.sampled_from([min(32, len(content)), len(content)]))
        content[data.draw(st.integers(0, end - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(content))))
    for each in NAMES:
        (tmp_path / each).unlink(missing_ok=True)
        (tmp_path / f"{each}.gz").unlink(missing_ok=True)
        end = ".gz" if packed else ""
        (tmp_path / f"{each}{end}").write_bytes(content[:cut] if each == name else SMALL[packed][each])
    try:
        images = load(str(tmp_path))
    except DataError as error:
        assert name in one_sentence(error)
    else:
        assert cut in (None, len(content))
        assert images.train_x.shape == (TRAIN, 1, 28, 28) and images.test_x.shape == (TEST, 1, 28, 28)
        assert images.train_y.max() < 10 and images.test_y.max() < 10


@pytest.mark.parametrize("source", ["synthetic", *filter(None, [os.environ.get("BENCH_TEST_IDX")])])
def test_full_sets(source):
    """With BENCH_TEST_IDX, also the real files in the folder it names."""
    images = load(source)
    assert images.train_x.shape == (60_000, 1, 28, 28) and images.test_x.shape == (10_000, 1, 28, 28)
    assert images.train_y.unique().tolist() == images.test_y.unique().tolist() == list(range(10))


# The synthetic stand-in


def test_synthetic_is_the_same_each_time_and_says_what_it_is():
    images, again = load("synthetic", images=1000), load("synthetic")
    assert images.name == "synthetic" and "synthetic stand-in (not real images)" in images.label
    assert images.train_x.shape == (1000, 1, 28, 28) and images.test_x.shape == (10_000, 1, 28, 28)
    assert images.train_x.dtype == torch.float32 and images.train_y.dtype == torch.int64
    assert torch.equal(images.train_x, again.train_x[:1000]) and torch.equal(images.train_y, again.train_y[:1000])
    assert again.train_x.min() >= 0 and again.train_x.max() <= 1
    shares = torch.bincount(again.train_y, minlength=10) / 60_000
    assert shares.min() > 0.09 and shares.max() < 0.11
    # The same on every machine and for every version of numpy: results may be compared across them.
    pixels = (again.train_x[:100] * 255).round().to(torch.uint8).numpy().tobytes()
    assert hashlib.sha256(pixels + bytes(again.train_y[:100].tolist())).hexdigest() == SYNTHETIC_SHA256


SYNTHETIC_SHA256 = "f9983bf47a2a890a9fa9196e185ee03b8f6d21e4dadf5a647dc6522d7496c5fb"


@pytest.mark.parametrize("images", [0, 60_001])
def test_synthetic_images_out_of_range(images):
    with raises(DataError, match="from 1 to 60\u202f000"):
        load("synthetic", images=images)


def test_synthetic_can_be_learned_and_is_not_trivial():
    images = load("synthetic", images=10_000)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))

    @torch.no_grad()
    def accuracy() -> float:
        return (net(images.test_x).argmax(1) == images.test_y).float().mean().item()

    before = accuracy()
    optimizer = torch.optim.Adam(net.parameters())
    for i in range(0, 10_000, 64):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(images.train_x[i : i + 64]), images.train_y[i : i + 64]).backward()
        optimizer.step()
    assert before < 0.3 and 0.9 < accuracy() < 0.9999


def test_full_sizes_load_fast(tmp_path):
    full = idx_images(60_000), idx_labels(60_000), idx_images(10_000), idx_labels(10_000)
    lay(tmp_path, dict(zip(NAMES, full, strict=True)))
    for source in ("synthetic", str(tmp_path)):
        began = time.process_time()  # not the clock: other tests may run beside this one
        assert len(load(source).train_x) == 60_000
        assert time.process_time() - began < 2, source


def test_importing_the_module_and_asking_leaves_torch_out():
    code = (
        "import sys; from bench.workloads.datasets import available; from pathlib import Path; available(Path('x'));"
        "sys.exit('torch' in sys.modules or 'torchvision' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


# Fashion-MNIST, in small, from a server on this machine


class Server:
    """Serves ``files``; ``plan`` maps a name to what goes wrong there; ``asked`` counts the requests."""

    def __init__(self, files: dict[str, bytes]):
        self.files, self.plan, self.asked, self.release = files, {}, Counter(), threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.rpartition("/")[2]
                server.asked[name] += 1
                content, plan = server.files[name], server.plan.get(name)
                if isinstance(plan, int):
                    return self.send_error(plan)
                if plan == "silent":
                    return server.release.wait(10)
                if plan == "garbage":
                    return self.wfile.write(b"\0\1\2 this is not HTTP\r\n\r\n")
                self.send_response(200)
                if plan not in ("no length", "endless"):
                    self.send_header("Content-Length", "many" if plan == "bad length" else str(len(content)))
                self.end_headers()
                if plan == "endless":
                    for _ in range(64):
                        self.wfile.write(bytes(1 << 20))
                half = len(content) // 2
                self.wfile.write(content[:half])
                self.wfile.flush()
                if plan == "stall":
                    return server.release.wait(10)
                if plan == "drop":
                    return None
                self.wfile.write(bytes(len(content) - half) if plan == "changed" else content[half:])

            def handle(self):
                with suppress(ConnectionError):  # the client left, as it should
                    super().handle()

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02})

    @contextmanager
    def running(self):
        self.thread.start()
        try:
            yield self
        finally:
            self.release.set()
            self.http.shutdown()
            self.http.server_close()
            self.thread.join()


PACKED = {f"{name}.gz": content for name, content in SMALL[True].items()}
TOTAL = sum(map(len, PACKED.values()))


@pytest.fixture
def server(monkeypatch):
    """A mirror of a small Fashion-MNIST, which torchvision and this module take for the real one."""
    resources = [(name, hashlib.md5(content).hexdigest()) for name, content in PACKED.items()]
    monkeypatch.setattr(FashionMNIST, "resources", resources)
    monkeypatch.setattr(datasets, "FILES", {n: (len(SMALL[True][n]), len(SMALL[False][n])) for n in NAMES})
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server(dict(PACKED)).running() as server:
        monkeypatch.setattr(FashionMNIST, "mirrors", [server.url])
        yield server


def raw_files(folder: Path) -> set[str]:
    return {path.name for path in (folder / "FashionMNIST" / "raw").iterdir()}


def refused(folder: Path, match: str, kind: type = DataError, **options) -> str:
    """The message of a download that fails with ``match``, leaves no half file, and says what to do."""
    with raises(kind, match=match) as error:
        download_fashion_mnist(folder, **options)
    if (folder / "FashionMNIST").is_dir():
        assert raw_files(folder) <= PACKED.keys()
        assert all((folder / "FashionMNIST/raw" / n).read_bytes() == PACKED[n] for n in raw_files(folder))
    return one_sentence(error.value)


def test_download_then_load(tmp_path, server):
    seen: list[tuple[int, int]] = []
    assert not available(tmp_path)
    raw = download_fashion_mnist(tmp_path, progress=lambda *both: seen.append(both), cancelled=lambda: False)
    assert raw == tmp_path / "FashionMNIST" / "raw"
    assert raw_files(tmp_path) == {*NAMES, *PACKED}
    assert seen[-1] == (TOTAL, TOTAL) and seen[0] == (0, TOTAL) and len(set(seen)) > 4
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert all(total == TOTAL for _, total in seen)
    assert available(tmp_path)
    images = load("fashion-mnist", folder=tmp_path)
    assert images.name == "fashion-mnist" and "Fashion-MNIST" in images.label and "checksums right" in images.label
    assert str(tmp_path) not in images.label
    expected = load(str(tmp_path))
    for part in ("train_x", "train_y", "test_x", "test_y"):
        mine, theirs = getattr(images, part), getattr(expected, part)
        assert torch.equal(mine, theirs) and mine.dtype == theirs.dtype and mine.is_contiguous()
    assert len(load(images=2, folder=tmp_path).train_x) == 2


def test_default_folder_is_under_bench_home(tmp_path, server, monkeypatch):
    monkeypatch.setenv("BENCH_HOME", str(tmp_path / "home"))
    assert download_fashion_mnist() == tmp_path / "home" / "data" / "FashionMNIST" / "raw"
    assert available() and len(load().train_x) == TRAIN


def test_total_follows_what_the_server_says(tmp_path, server, monkeypatch):
    monkeypatch.setattr(datasets, "FILES", {name: (10**6, 0) for name in NAMES})  # far from the real sizes
    seen: list[tuple[int, int]] = []
    download_fashion_mnist(tmp_path, progress=lambda *both: seen.append(both))
    assert seen[0] == (0, 4 * 10**6) and seen[-1] == (TOTAL, TOTAL)
    assert all(done <= total for done, total in seen)


def test_without_a_length(tmp_path, server):
    server.plan[f"{IMAGES}.gz"] = "no length"
    seen: list[tuple[int, int]] = []
    download_fashion_mnist(tmp_path, progress=lambda *both: seen.append(both))
    assert seen[-1] == (TOTAL, TOTAL) and all(done <= total for done, total in seen)


def test_an_endless_answer_is_left_early(tmp_path, server):
    server.plan[f"{IMAGES}.gz"] = "endless"
    seen: list[tuple[int, int]] = []
    refused(tmp_path, "wrong checksum", progress=lambda *both: seen.append(both))
    assert max(done for done, _ in seen) <= len(PACKED[f"{IMAGES}.gz"]) + (1 << 16)


def test_complete_files_are_not_fetched_again(tmp_path, server):
    server.plan[f"{NAMES[3]}.gz"] = 503
    refused(tmp_path, "HTTP 503")
    assert raw_files(tmp_path) == {f"{name}.gz" for name in NAMES[:3]}
    server.plan.clear()
    server.asked.clear()
    seen: list[tuple[int, int]] = []
    download_fashion_mnist(tmp_path, progress=lambda *both: seen.append(both))
    assert server.asked == {f"{NAMES[3]}.gz": 1} and seen[-1] == (TOTAL, TOTAL)
    server.asked.clear()
    download_fashion_mnist(tmp_path)
    assert not server.asked


def test_damaged_files_are_fetched_and_unpacked_again(tmp_path, server):
    raw = download_fashion_mnist(tmp_path)
    (raw / f"{LABELS}.gz").write_bytes(b"damaged")
    (raw / IMAGES).write_bytes(idx_images(TRAIN, seed=9))  # right in form, but not what was downloaded
    with raises(DataError, match="its MD5 is") as error:
        load(folder=tmp_path)
    assert f"{LABELS}.gz" in one_sentence(error.value)
    server.asked.clear()
    download_fashion_mnist(tmp_path)
    assert server.asked == {f"{LABELS}.gz": 1}
    assert (raw / IMAGES).read_bytes() == SMALL[False][IMAGES]


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (403, r"127\.0\.0\.1 refused the file \(HTTP 403\)"),
        (404, "HTTP 404"),
        (500, "HTTP 500"),
        ("changed", "has a wrong checksum"),
        ("drop", r"broke off after \d+ of \d+ bytes"),
        ("stall", "did not answer within 300 ms"),
        ("silent", "did not answer within 300 ms"),
        ("garbage", "the connection to .* failed"),
        ("bad length", "the connection to .* failed"),
    ],
)
def test_a_mirror_that_fails(tmp_path, server, plan, why):
    server.plan[f"{LABELS}.gz"] = plan
    text = refused(tmp_path, why, timeout_s=0.3)
    assert str(tmp_path / "FashionMNIST" / "raw") in text and "try again" in text and "synthetic" in text
    assert not available(tmp_path)


@pytest.mark.parametrize("plan", [404, "changed", "drop", "stall"])
def test_the_next_mirror_is_asked(tmp_path, server, plan):
    with Server(dict(PACKED)).running() as bad:
        bad.plan = dict.fromkeys(PACKED, plan)
        seen: list[tuple[int, int]] = []
        download_fashion_mnist(
            tmp_path, mirrors=[bad.url, server.url], timeout_s=0.2, progress=lambda *both: seen.append(both)
        )
    assert bad.asked.keys() >= PACKED.keys() and server.asked == dict.fromkeys(PACKED, 1)
    assert seen[-1] == (TOTAL, TOTAL) and all(done <= total for done, total in seen)


def test_each_mirror_is_named_when_all_fail(tmp_path, server):
    with Server(dict(PACKED)).running() as bad:
        bad.plan, server.plan = dict.fromkeys(PACKED, 403), dict.fromkeys(PACKED, "changed")
        text = refused(tmp_path, "HTTP 403.*; .*wrong checksum", mirrors=[bad.url, server.url])
    assert raw_files(tmp_path) == set() and text.count("127.0.0.1") == 2


@pytest.mark.parametrize("mirror", ["http://127.0.0.1:9/", "nonsense", "gopher://x/"])
def test_no_connection(tmp_path, server, mirror):
    refused(tmp_path, "the connection to .* failed .*check the network", mirrors=[mirror])


def test_no_network(tmp_path, server, monkeypatch):
    def no_name(*_args, **_kwargs):
        raise URLError(OSError(-3, "Temporary failure in name resolution"))

    monkeypatch.setattr(mirrors.request, "urlopen", no_name)
    refused(tmp_path, "the connection to 127.0.0.1 failed .*name resolution.*check the network")


def test_what_each_mirror_said_is_told_in_the_readers_language(tmp_path, server):
    server.plan[f"{IMAGES}.gz"] = 404
    with Server(dict(PACKED)).running() as changed:
        changed.plan = dict.fromkeys(PACKED, "changed")
        with pytest.raises(DataError) as error:
            download_fashion_mnist(tmp_path, mirrors=[server.url, changed.url])
    english = f"127.0.0.1 refused the file (HTTP 404); {IMAGES}.gz has a wrong checksum at 127.0.0.1; try again"
    assert english in one_sentence(error.value)
    with language.speaking("id"):
        text = one_sentence(error.value)
    assert "127.0.0.1 menolak memberikan berkas (HTTP 404); " in text and "wrong checksum" not in text


def test_certificates_are_verified_and_failures_told(tmp_path, server, monkeypatch):
    contexts = []

    def distrust(*_args, context, **_kwargs):
        contexts.append(context)
        failure = ssl.SSLCertVerificationError(1, "certificate verify failed")
        failure.verify_message = "unable to get local issuer certificate"
        raise URLError(failure)

    monkeypatch.setattr(ssl, "_create_default_https_context", ssl._create_unverified_context)  # as some tell users
    monkeypatch.setattr(mirrors.request, "urlopen", distrust)
    refused(tmp_path, "certificate of 127.0.0.1 could not be verified .unable to get.*Install Certificates")
    assert contexts[0].verify_mode == ssl.CERT_REQUIRED and contexts[0].check_hostname


@pytest.mark.parametrize("at", [1, 2, 5])
def test_cancelled(tmp_path, server, at):
    asked = Counter()

    def cancelled() -> bool:
        asked["times"] += 1
        return asked["times"] >= at

    text = refused(tmp_path, "cancelled", Cancelled, cancelled=cancelled)
    assert "start it again" in text
    download_fashion_mnist(tmp_path)
    assert available(tmp_path)


def test_what_the_callbacks_raise_is_not_hidden(tmp_path, server):
    class Stop(BaseException):
        pass

    def stop(*_):
        raise Stop

    def broken(done, _total):
        if done:
            raise BrokenPipeError("of the caller, not of the network")

    with pytest.raises(Stop):
        download_fashion_mnist(tmp_path, progress=stop)
    with pytest.raises(BrokenPipeError):
        download_fashion_mnist(tmp_path, progress=broken)


@pytest.mark.parametrize("place", ["", "FashionMNIST", "FashionMNIST/raw"])
def test_a_folder_that_cannot_be_written(tmp_path, server, place):
    folder = tmp_path / "data"
    blocker = folder / place
    blocker.parent.mkdir(parents=True, exist_ok=True)
    blocker.write_text("a file where a folder must be")
    with raises(DataError, match=r"cannot be used .*check its permissions and the free disk space") as error:
        download_fashion_mnist(folder)
    assert str(folder) in one_sentence(error.value)
    assert not server.asked, "the folder must be tried before anything is fetched"
    assert not available(folder)


@pytest.mark.parametrize("file", [f"{IMAGES}.gz", IMAGES])
def test_disk_full(tmp_path, server, monkeypatch, file):
    write_bytes = Path.write_bytes

    def full(self, content):
        if self.name == file:
            write_bytes(self, content[:5])
            raise OSError(28, "No space left on device")
        return write_bytes(self, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    refused(tmp_path, r"No space left on device.*free disk space")


def test_files_are_written_elsewhere_and_moved_into_place(tmp_path, server, monkeypatch):
    write_bytes, places = Path.write_bytes, []

    def noted(self, content):
        places.append(self.parent)
        return write_bytes(self, content)

    monkeypatch.setattr(Path, "write_bytes", noted)
    raw = download_fashion_mnist(tmp_path)
    assert len(places) == 8 and all(place.parent == raw for place in places)


def test_an_unreadable_file(tmp_path, server, monkeypatch):
    download_fashion_mnist(tmp_path)

    def denied(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", denied)
    for source in ("fashion-mnist", str(tmp_path)):
        with raises(DataError, match=r"Permission denied.*check its permissions") as error:
            load(source, folder=tmp_path)
        one_sentence(error.value)


@pytest.mark.parametrize("left", [0, 3])
def test_not_downloaded(tmp_path, server, left):
    lay(tmp_path / "FashionMNIST" / "raw", dict(list(small_set().items())[:left]))
    with raises(DataError, match=r"download it, put its .gz files into .*raw, or choose “synthetic”") as error:
        load(folder=tmp_path)
    assert str(tmp_path / "FashionMNIST" / "raw") in one_sentence(error.value)
    assert not available(tmp_path) and not server.asked


def test_gz_files_put_there_by_hand(tmp_path, server):
    raw = lay(tmp_path / "FashionMNIST" / "raw", {})
    for name, content in PACKED.items():
        (raw / name).write_bytes(content)
    assert available(tmp_path)
    assert "checksums right" in load(folder=tmp_path).label and not server.asked


def test_unpacked_files_put_there_by_hand(tmp_path, server):
    raw = lay(tmp_path / "FashionMNIST" / "raw", small_set())
    assert available(tmp_path)
    assert "without checksums" in load(folder=tmp_path).label
    (raw / LABELS).write_bytes(idx_labels(TRAIN) + b"\0")  # torchvision alone would not name the file
    with raises(DataError, match="does not fit the 7 items") as error:
        load(folder=tmp_path)
    assert str(raw / LABELS) in one_sentence(error.value)
    assert not available(tmp_path)


def test_what_an_old_torchvision_left_is_not_read(tmp_path, server):
    download_fashion_mnist(tmp_path)
    old = tmp_path / "FashionMNIST" / "processed"
    old.mkdir()
    for name in ("training.pt", "test.pt"):
        torch.save((torch.zeros(1, 28, 28, dtype=torch.uint8), torch.zeros(1, dtype=torch.int64)), old / name)
    with raises(DataError, match=r"old torchvision.*remove it"):
        load(folder=tmp_path)


@pytest.mark.parametrize("failure", [ImportError("No module"), RuntimeError("operator nms does not exist")])
def test_torchvision_that_does_not_load(tmp_path, monkeypatch, failure):
    class Finder:
        def find_spec(self, name, *_):
            if name == "torchvision.datasets":
                raise failure

    monkeypatch.delitem(sys.modules, "torchvision.datasets")
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    for act in (lambda: load(folder=tmp_path), lambda: download_fashion_mnist(tmp_path)):
        with raises(DataError, match=r"torchvision cannot be loaded .*reinstall it") as error:
            act()
        one_sentence(error.value)
    assert len(load("synthetic", images=1).train_x) == 1


def test_the_real_names_and_sizes_are_torchvisions():
    assert [name for name, _ in FashionMNIST.resources] == [f"{name}.gz" for name in FILES]
    assert sum(gz for gz, _ in FILES.values()) == 30_878_645
    assert [raw for _, raw in FILES.values()] == [16 + 784 * 60_000, 8 + 60_000, 16 + 784 * 10_000, 8 + 10_000]


def test_http_exceptions_are_covered():
    """IncompleteRead and its like are no OSErrors: what the module catches must include them."""
    assert issubclass(http.client.IncompleteRead, mirrors.HTTPException)
