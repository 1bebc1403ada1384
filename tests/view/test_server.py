# SPDX-License-Identifier: Apache-2.0
"""Sends the page's requests to the server of 'parallax view'."""
import http.client
import json
import os
import re
import resource
import secrets
import select
import shutil
import socket
import struct
import subprocess
import threading
import time
import zlib

import numpy as np
import pytest

COMMAND = os.environ["PARALLAX_COMMAND"]


class Server:
    """A server, and its page's knowledge of it."""

    def __init__(self, folder, *arguments, **options):
        self.folder = folder
        words = [COMMAND, "view", *arguments, "--no-open"]
        self.process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True, **options)
        self.address = self.process.stdout.readline().strip()
        self.port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", self.address)[1])
        page = self.ask("GET", "/", headers={})[1].decode()
        self.headers = {"X-Parallax-Token": re.search(r'name="token" content="(\w+)"', page)[1]}
        self.state = self.json("GET", "/state")

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, self.headers if headers is None else headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

    def json(self, method, path, value=None, status=200):
        answered, content = self.ask(method, path, None if value is None else json.dumps(value))
        assert answered == status, content
        return json.loads(content)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def new_page():
    """The path of a page that is not open yet."""
    return "/pages/" + secrets.token_hex(16)


class Page:
    """An open page. Collects the messages of its stream."""

    def __init__(self, server):
        self.server = server
        self.path = new_page()
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.connection.request("GET", self.path + "/stream", headers=server.headers)
        self.stream = self.connection.getresponse()
        assert self.stream.status == 200

    def message(self, kind):
        """The next message of this kind, with its planes."""
        begin = time.monotonic()
        while time.monotonic() < begin + 120:  # there is a message every two seconds
            rest = self.stream.read(struct.unpack("<I", self.stream.read(4))[0])
            message, planes = parse(rest)
            if message["kind"] == "pictures":
                self.pictures = message, planes
            if message["kind"] == kind:
                return message, planes
        raise AssertionError(f"no message '{kind}'")

    def set(self, request, slot="A", both_maps=False, **changes):
        start = dict(self.server.state["start"], slot=slot, request=request, both_maps=both_maps)
        start["values"] = {**start["values"], **changes}
        return self.server.json("POST", self.path + "/settings", start)

    def match(self, request, **changes):
        self.set(request, **changes)
        while True:
            message, planes = self.message("map")
            if message["request"] == request:
                return message, planes

    def get(self, what, status=200, **values):
        query = "&".join(f"{name}={value}" for name, value in values.items())
        return self.server.json("GET", f"{self.path}/{what}?{query}", status=status)

    def export(self, name):
        status, content = self.server.ask("POST", f"{self.path}/export?slot=A&as={name}")
        assert status == 200, content
        return content

    def close(self):
        self.stream.close()
        self.connection.close()


def parse(rest):
    length = struct.unpack("<I", rest[:4])[0]
    message = json.loads(rest[4 : 4 + length])
    planes = {}
    for plane in message["planes"]:
        shape = (plane["height"], plane["width"]) + ((3,) if plane["channels"] == 3 else ())
        kind = {"u8": np.uint8, "u16": np.uint16}[plane["type"]]
        start = 4 + length + plane["offset"]
        planes[plane["name"]] = np.frombuffer(rest, kind, int(np.prod(shape)), start).reshape(shape)
    return message, planes


def disparities(message, plane):
    return np.where(plane == 0, np.inf, message["lowest"] + (plane.astype(np.float64) - 1) / message["steps"])


def read_pfm(content):
    header, size, scale, values = content.split(b"\n", 3)
    width, height = map(int, size.split())
    assert (header, float(scale)) == (b"Pf", -1)
    return np.frombuffer(values, np.float32).reshape(height, width)[::-1]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view")
    for name, seed in ("pair", 1), ("second", 2):
        words = [COMMAND, "synth", name, "--size", "160x120", "--disparities", "24", "--seed", str(seed)]
        subprocess.run(words, cwd=folder, check=True)
    return folder


@pytest.fixture
def serve(folder):
    servers = []

    def start(*arguments, **options):
        servers.append(Server(folder, *arguments, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def server(serve):
    return serve(
        *("pair/left.png", "pair/right.png", "--method", "census", "--device", "cpu", "--disparities", "24"),
        *("--calib", "pair/calib.txt", "--truth", "pair/disp0GT.pfm"),
    )


@pytest.fixture
def page(server):
    page = Page(server)
    yield page
    page.close()


def test_the_state_says_what_each_method_declares(server):
    methods = {method["name"]: method for method in server.state["methods"]}
    assert {"block", "bp", "census", "sgm", "tiled-bp"} <= set(methods)
    for method in methods.values():
        names = [parameter["name"] for parameter in method["parameters"]]
        assert method["presets"][0]["name"] == "default"
        for preset in method["presets"]:
            assert sorted(preset["values"]) == sorted(names)
    window = next(p for p in methods["census"]["parameters"] if p["name"] == "window")
    assert (window["kind"], window["least"], window["optional"]) == ("integer", 1, False)
    assert all(number % 2 for number in window["numbers"])
    assert server.state["start"]["method"] == "census"
    assert server.state["start"]["values"]["disparities"] == 24
    assert server.state["calibration"]["baseline"] < 1  # metres
    assert server.state["truth"] is True


def test_a_map_is_what_its_command_line_writes(page, folder):
    message, planes = page.match(1, window=5, left_right_check=False, fill="none")
    command = message["commands"]["command_line"].replace("parallax", COMMAND, 1)
    subprocess.run(command, shell=True, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    written = (folder / "disparity.pfm").read_bytes()
    assert page.export("disparity.pfm") == written
    exact = read_pfm(written)
    shown = disparities(message, planes["disparity"])
    valid = np.isfinite(exact)
    assert np.array_equal(np.isfinite(shown), valid) and valid.mean() > 0.5
    assert np.abs(shown[valid] - exact[valid]).max() <= 0.5 / message["steps"]
    assert set(np.unique(planes["status"])) <= set(range(len(page.server.state["statuses"])))
    for x, y in (0, 0), (80, 60), (159, 119):
        value = page.get("value", slot="A", x=x, y=y)
        assert value["disparity"] == (float(exact[y, x]) if np.isfinite(exact[y, x]) else None)
        assert value["status"] == page.server.state["statuses"][planes["status"][y, x]]


CAMERA_OF_RIG = {
    "size": [160, 120],
    "focal": [150, 150],
    "centre": [80, 60],
    "model": "radial-tangential",
    "distortion": [-0.05, 0, 0, 0],
}
RIG = {
    "left": CAMERA_OF_RIG,
    "right": CAMERA_OF_RIG,
    "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "translation": [-0.1, 0, 0],
}


def write_gray(path, picture):
    """Writes a PNG of 8 bits."""
    height, width = picture.shape
    rows = b"".join(b"\0" + row.tobytes() for row in picture)
    parts = (
        (b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    content = b"".join(struct.pack(">I", len(b)) + a + b + struct.pack(">I", zlib.crc32(a + b)) for a, b in parts)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + content)


@pytest.mark.parametrize(
    "inputs",
    [
        ("pair/left.png", "pair/right.png", "--threads", "1"),
        ("pair/left.png", "pair/right.png", "--left-mask", "mask.png"),
        ("both.png", "--side-by-side"),
        ("pair/left.png", "pair/right.png", "--rig", "rig.json", "--alpha", "1", "--zoom", "0.75"),
        ("left", "right"),
    ],
    ids=["pair", "mask", "both", "rig", "folders"],
)
def test_its_code_makes_the_same_map(serve, folder, inputs):
    mask = np.full((120, 160), 255, np.uint8)
    mask[:, 60:] = 0
    write_gray(folder / "mask.png", mask)
    write_gray(folder / "both.png", np.random.default_rng(1).integers(0, 255, (120, 320)).astype(np.uint8))
    (folder / "rig.json").write_text(json.dumps(RIG))
    make_sequence(folder)
    page = Page(serve(*inputs, "--method", "census", "--device", "cpu", "--disparities", "24"))
    message, _ = page.match(1, window=7, sub_pixel="none")
    expected = page.export("disparity.pfm")
    command = message["commands"]["command_line"].replace("parallax", COMMAND, 1)
    subprocess.run(command, shell=True, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    is_sequence = inputs == ("left", "right")
    assert (folder / ("disparity_0000.pfm" if is_sequence else "disparity.pfm")).read_bytes() == expected
    pytest.importorskip("parallax_stereo")
    code = message["commands"]["python"] + "result.save('python.pfm')\n"
    if is_sequence:
        assert "# left, right: " in code
        code = code.replace("# left", "left, right = px.read('left/0.png'), px.read('right/0.png')  #")
    subprocess.run([os.sys.executable, "-c", code], cwd=folder, check=True)
    assert (folder / "python.pfm").read_bytes() == expected
    page.close()


def test_a_code_says_which_rows_are_compared(serve, folder):
    """The command line would align those of a pair by itself."""
    image = pytest.importorskip("PIL.Image")
    right = np.asarray(image.open(folder / "pair/right.png"))
    image.fromarray(np.roll(right, -2, axis=0)).save(folder / "low.png")
    page = Page(serve("pair/left.png", "low.png", "--method", "census", "--device", "cpu", "--disparities", "24"))
    message, _ = page.match(1)
    command = message["commands"]["command_line"].replace("parallax", COMMAND, 1)
    subprocess.run(command, shell=True, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    assert page.export("disparity.pfm") == (folder / "disparity.pfm").read_bytes()
    assert "--rows given" in command and 'rows="given"' in message["commands"]["python"]
    page.close()


def test_a_calibration_of_another_size_is_scaled(serve, folder):
    subprocess.run([COMMAND, "synth", "large", "--size", "320x240", "--disparities", "48"], cwd=folder, check=True)
    large = serve("pair/left.png", "pair/right.png", "--calib", "large/calib.txt", "--device", "cpu").state
    own = serve("pair/left.png", "pair/right.png", "--calib", "pair/calib.txt", "--device", "cpu").state
    assert large["calibration"]["focal"] == pytest.approx(own["calibration"]["focal"], rel=0.01)


def test_files_may_have_any_name(serve, folder):
    name = os.fsdecode(b'it\'s \xff\r\nX: "y".png')
    shutil.copy(folder / "pair/left.png", folder / name)
    page = Page(serve(name, "pair/right.png", "--method", "block", "--device", "cpu", "--disparities", "24"))
    message, _ = page.match(1)
    assert "X: " in message["commands"]["python"]
    page.close()


def test_the_errors_are_those_of_eval(page, folder):
    message, _ = page.match(1)
    (folder / "map.pfm").write_bytes(page.export("disparity.pfm"))
    words = [COMMAND, "eval", "map.pfm", "pair/disp0GT.pfm", "--json"]
    expected = json.loads(subprocess.run(words, cwd=folder, check=True, capture_output=True).stdout)
    assert message["errors"]["bad1"] == pytest.approx(expected["bad1"])
    value = page.get("value", slot="A", x=80, y=60)
    assert value["error"] == pytest.approx(value["disparity"] - value["truth"])


def test_depth_follows_from_the_calibration(page):
    page.match(1)
    value = page.get("value", slot="A", x=80, y=60)
    rig = page.server.state["calibration"]
    assert value["depth"] == pytest.approx(rig["focal"] * rig["baseline"] / (value["disparity"] + rig["doffs"]))
    assert value["position"][2] == value["depth"]
    assert page.export("cloud.ply").startswith(b"ply")
    assert page.export("depth.png").startswith(b"\x89PNG")


def test_a_region_is_a_part_of_the_map(page):
    message, planes = page.match(1)
    query = f"{page.path}/region?slot=A&x=30&y=20&width=50&height=40"
    status, content = page.server.ask("GET", query)
    assert status == 200, content
    region, parts = parse(content[4:])
    whole = disparities(message, planes["disparity"])[20:60, 30:80]
    assert np.array_equal(disparities(region, parts["disparity"]), whole)
    assert parts["left"].shape[:2] == (40, 50)
    assert set(page.pictures[1]) == {"left"}
    page.server.json("POST", page.path + "/planes", {"right": True, "truth": True})
    pictures, planes = page.message("pictures")
    assert set(planes) == {"right", "truth"}
    assert np.array_equal(
        disparities(region["truth"], parts["truth"]), disparities(pictures, planes["truth"])[20:60, 30:80]
    )
    page.get("region", status=400, slot="A", x=130, y=20, width=50, height=40)
    page.get("region", status=400, slot="A", x=-1, y=0, width=5, height=5)
    page.get("value", status=400, slot="A", x=160, y=0)
    page.get("value", status=400, slot="A", x="zero", y=0)
    page.server.json("POST", page.path + "/play", {"frame": "first"}, status=400)


def test_the_map_of_the_right_picture_comes_where_it_is_wanted(serve, folder):
    texture = np.random.default_rng(2).integers(0, 255, (90, 180)).astype(np.uint8)
    left, right = texture[:, :160], texture[:, 6:166]
    for name, image in (("left_of.png", left), ("right_of.png", right)):
        write_gray(folder / name, image)
    # Their mirror images, exchanged.
    write_gray(folder / "mirror_left.png", np.ascontiguousarray(right[:, ::-1]))
    write_gray(folder / "mirror_right.png", np.ascontiguousarray(left[:, ::-1]))
    page = Page(serve("left_of.png", "right_of.png", "--method", "block", "--device", "cpu", "--disparities", "16"))
    message, planes = page.match(1)
    assert "right_disparity" not in planes and "--right-output" not in message["commands"]["command_line"]
    assert "right_disparity" not in page.get("value", slot="A", x=80, y=60)
    message, planes = page.match(2, both_maps=True, fill="none")
    mirrored = [COMMAND, "match", "mirror_left.png", "mirror_right.png", "--method", "block", "--disparities", "16"]
    subprocess.run([*mirrored, "--fill", "none", "-o", "mirror.pfm"], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    exact = read_pfm((folder / "mirror.pfm").read_bytes())[:, ::-1]
    shown = disparities(message["right_disparity"], planes["right_disparity"])
    valid = np.isfinite(exact)
    assert np.array_equal(np.isfinite(shown), valid) and 0.5 < valid.mean() < 1
    assert np.abs(shown[valid] - exact[valid]).max() <= 0.5 / message["right_disparity"]["steps"]
    assert np.median(exact[valid]) == pytest.approx(6, abs=0.1)
    for y, x in np.argwhere(valid)[0], np.argwhere(~valid)[0]:
        expected = float(exact[y, x]) if valid[y, x] else None
        assert page.get("value", slot="A", x=x, y=y)["right_disparity"] == expected
    # The commands make the same map.
    commands = message["commands"]
    words = commands["command_line"].replace("parallax", COMMAND, 1)
    subprocess.run(words, shell=True, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    assert np.array_equal(read_pfm((folder / "right.pfm").read_bytes()), exact)
    assert "both_maps=True" in commands["python"] and ".both_maps = true" in commands["cpp"]
    status, content = page.server.ask("GET", f"{page.path}/region?slot=A&x=30&y=20&width=50&height=40")
    assert status == 200, content
    region, parts = parse(content[4:])
    assert np.array_equal(disparities(region["right_disparity"], parts["right_disparity"]), shown[20:60, 30:80])
    page.close()


def test_row_offsets_come_where_rows_are_searched(serve, folder):
    texture = np.random.default_rng(1).integers(0, 255, (130, 180)).astype(np.uint8)
    write_gray(folder / "texture.png", texture[5:125, :160])
    write_gray(folder / "lowered.png", texture[4:124, 10:170])  # by one row
    page = Page(serve("texture.png", "lowered.png", "--method", "block", "--device", "cpu", "--disparities", "16"))
    message, planes = page.match(1)
    assert "row_offset" not in planes and "row_offset" not in message
    assert "row_offset" not in page.get("value", slot="A", x=80, y=60)
    message, planes = page.match(2, row_tolerance=2, fill="none")
    words = message["commands"]["command_line"].replace("parallax", COMMAND, 1) + " --rows-off rows.pfm"
    subprocess.run(words, shell=True, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    exact = read_pfm((folder / "rows.pfm").read_bytes())
    shown = disparities(message["row_offset"], planes["row_offset"])
    valid = np.isfinite(exact)
    assert np.array_equal(np.isfinite(shown), valid) and 0.5 < valid.mean() < 1
    assert np.abs(shown[valid] - exact[valid]).max() <= 0.5 / message["row_offset"]["steps"]
    assert np.median(exact[valid]) == pytest.approx(1, abs=0.1)
    for y, x in np.argwhere(valid)[0], np.argwhere(~valid)[0]:
        expected = float(exact[y, x]) if valid[y, x] else None
        assert page.get("value", slot="A", x=x, y=y)["row_offset"] == expected
    status, content = page.server.ask("GET", f"{page.path}/region?slot=A&x=30&y=20&width=50&height=40")
    assert status == 200, content
    region, parts = parse(content[4:])
    assert np.array_equal(disparities(region["row_offset"], parts["row_offset"]), shown[20:60, 30:80])
    page.close()


def test_the_cost_curve_has_its_minimum_at_the_disparity(page):
    page.match(1, left_right_check=False, fill="none", median=0, speckle_size=0, sub_pixel="none")
    value = page.get("value", slot="A", x=80, y=60)
    curve = page.get("curve", slot="A", x=80, y=60)
    costs = [float("inf") if cost is None else cost for cost in curve["totals"]]
    assert curve["min_disparity"] + int(np.argmin(costs)) == value["disparity"]
    assert len(curve["data_costs"]) == 24


def test_a_map_made_elsewhere_fills_a_slot(serve):
    server = serve("pair/left.png", "pair/right.png", "--disparities", "24", "--map", "pair/disp0GT.pfm")
    assert server.state["stored_map"] is True
    page = Page(server)
    page.server.json("POST", page.path + "/settings", {"slot": "B", "request": 5, "stored_map": True})
    message, planes = page.message("map")
    assert (message["slot"], message["request"]) == ("B", 5) and "commands" not in message
    truth = read_pfm((server.folder / "pair/disp0GT.pfm").read_bytes())
    assert np.abs(disparities(message, planes["disparity"]) - truth).max() <= 0.5 / message["steps"]
    page.get("curve", status=400, slot="B", x=3, y=3)
    page.close()


def test_only_the_newest_settings_wait(serve):
    server = serve("pair/left.png", "pair/right.png", "--method", "bp", "--device", "reference", "--disparities", "24")
    page = Page(server)
    for request in range(1, 31):
        page.set(request)
    requests = []
    while not requests or requests[-1] != 30:
        requests.append(page.message("map")[0]["request"])
    assert len(requests) < 30 and requests == sorted(requests)
    page.close()


def test_a_match_that_fails_leaves_the_last_map(page):
    page.match(1)
    before = page.export("disparity.pfm")
    start = dict(page.server.state["start"], slot="A", request=2, method="bp", device="cuda:7")
    start["values"] = {}
    page.server.json("POST", page.path + "/settings", start)
    message, _ = page.message("error")
    assert message["request"] == 2 and message["slot"] == "A" and "\n" not in message["error"]
    assert page.export("disparity.pfm") == before


@pytest.mark.parametrize(
    "settings, says",
    [
        ({"slot": "C"}, "choose A or B"),
        ({"method": "none"}, "method is none"),
        ({"values": {"window": 4}}, "window"),
        ({"values": {"nothing": 4}}, "nothing"),
        ({"values": 3}, "values"),
        ({"device": 3}, "device"),
        ({"request": -1}, "request"),
        ([], "object"),
    ],
)
def test_bad_settings_are_refused_in_one_line(page, settings, says):
    if isinstance(settings, dict):
        settings = {"slot": "A", "method": "census", "device": "cpu", "values": {}, **settings}
    error = page.server.json("POST", page.path + "/settings", settings, status=400)["error"]
    assert says in error and "\n" not in error


def test_others_are_refused(server):
    own = server.headers
    assert server.ask("GET", "/state", headers={})[0] == 403
    assert server.ask("GET", "/state", headers={"X-Parallax-Token": "0" * 32})[0] == 403
    assert server.ask("GET", new_page() + "/stream", headers={})[0] == 403
    assert server.ask("GET", "/", headers={"Host": "example.com"})[0] == 421
    assert server.ask("GET", "/state", headers={**own, "Host": f"example.com:{server.port}"})[0] == 421
    assert server.ask("GET", "/state", headers={**own, "Origin": "http://example.com"})[0] == 403
    assert server.ask("GET", "/state", headers={**own, "Origin": f"http://127.0.0.1:{server.port}"})[0] == 200
    assert server.ask("GET", "/state", headers={**own, "Origin": f"http://localhost:{server.port}"})[0] == 403
    for path in "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/pages/../state/x":
        assert server.ask("GET", path)[0] == 404
    assert server.ask("GET", "/pages/0123/value?slot=A&x=0&y=0")[0] == 404


def test_other_machines_need_the_token(folder):
    words = [COMMAND, *"view pair/left.png pair/right.png --disparities 24 --no-open --host 0.0.0.0".split()]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)
    port, token = re.fullmatch(r"http://0\.0\.0\.0:(\d+)/\?token=(\w{32})", process.stdout.readline().strip()).groups()

    def status(path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    try:
        assert status("/") == status("/?token=" + "0" * 32) == status("/state") == 403
        assert status("/?token=" + token) == 200
        own = {"X-Parallax-Token": token, "Host": f"machine:{port}"}
        assert status("/state", **own) == 200
        assert status("/state", **own, Origin=f"http://example.com:{port}") == 403
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def test_a_large_body_is_refused(server):
    page = Page(server)
    try:
        status, content = server.ask("POST", page.path + "/settings", b" " * 100_000_000)
        assert status == 413 and json.loads(content)["error"] == "the body is larger than 64 KiB"
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server did not wait for all of it
    deep = b'{"slot": ' + 10_000 * b"[" + 10_000 * b"]" + b"}"
    status, content = server.ask("POST", page.path + "/settings", deep)
    assert status == 400 and json.loads(content)["error"] == "the body is nested more than 100 levels deep"
    endless = {**server.headers, "Transfer-Encoding": "chunked"}
    assert server.ask("POST", page.path + "/settings", b"2\r\n{}\r\n0\r\n\r\n", endless)[0] == 411
    for method in "POST", "PUT", "PATCH", "DELETE":  # until the connection closes
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            head = f"{method} {page.path}/settings HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            connection.sendall(f"{head}X-Parallax-Token: {server.headers['X-Parallax-Token']}\r\n\r\n".encode())
            assert connection.recv(20).startswith(b"HTTP/1.1 411")
    assert server.json("GET", "/state")["version"]
    page.close()


def is_answered_beside(server, count):
    """Whether a request is answered while `count` connections have sent half a request, without giving up one of them."""
    half_sent = []
    for _ in range(count):
        half_sent.append(socket.create_connection(("127.0.0.1", server.port)))
        half_sent[-1].sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-" % server.port)
    given_up = len(select.select(half_sent, [], [], 0)[0])
    status, _ = server.ask("GET", "/", headers={})
    given_up_since = len(select.select(half_sent, [], [], 0)[0]) - given_up
    for connection in half_sent:
        connection.close()
    return status == 200 and given_up_since == 0


def test_connections_that_send_nothing_hold_nobody_up(server):
    # Each is given up after some seconds anyway, which may happen in between, once.
    assert any(is_answered_beside(server, 24) for _ in range(3))


def test_connections_that_trickle_hold_nobody_up(server):
    page = Page(server)
    trickling = []
    for _ in range(50):
        trickling.append(socket.create_connection(("127.0.0.1", server.port)))
        trickling[-1].sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-" % server.port)
    for request in range(1, 6):
        for connection in trickling:
            connection.send(b"x")
        page.match(request, window=2 * request + 1)
        assert server.ask("GET", "/", headers={})[0] == 200
    for connection in trickling:
        connection.close()
    page.close()


def test_two_pages_match_for_themselves(server):
    pages = [Page(server), Page(server)]
    for number, page in enumerate(pages):
        page.match(1, window=5 + 4 * number)
    maps = [page.export("disparity.pfm") for page in pages]
    assert maps[0] != maps[1]
    assert maps[0] == pages[0].export("disparity.pfm")
    for page in pages:
        page.close()


def test_two_pages_share_a_slow_method(serve, folder):
    words = [COMMAND, "synth", "hd", "--size", "1920x1080", "--disparities", "64"]
    subprocess.run(words, cwd=folder, check=True)
    server = serve("hd/left.png", "hd/right.png", "--method", "sgm", "--device", "cpu", "--disparities", "32")
    pages = [Page(server), Page(server)]
    answered = [set(), set()]

    def read(number, last):
        while last not in answered[number]:
            answered[number].add(pages[number].message("map")[0]["request"])

    # Each page sends requests repeatedly while both match, and gets the result of its last one.
    for request in range(1, 41):
        for number, page in enumerate(pages):
            page.set(request, median=(0, 5)[number] if request == 40 else (3, 5)[request % 2])
    readers = [threading.Thread(target=read, args=(number, 40)) for number in (0, 1)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(timeout=120)
    assert all(40 in numbers and len(numbers) < 20 for numbers in answered), answered
    maps = [page.export("disparity.pfm") for page in pages]
    assert maps[0] != maps[1]
    for number, page in enumerate(pages):
        words = [COMMAND, "match", "hd/left.png", "hd/right.png", "--method", "sgm", "--device", "cpu"]
        words += ["--disparities", "32", "--median", "05"[number], "-o", "hd.pfm"]
        subprocess.run(words, cwd=folder, check=True, stderr=subprocess.DEVNULL)
        assert maps[number] == (folder / "hd.pfm").read_bytes()
        page.close()


def test_pages_are_limited_and_close_with_their_stream(server):
    pages = [Page(server) for _ in range(8)]
    assert "close one" in server.json("GET", new_page() + "/stream", status=503)["error"]
    for page in pages:
        page.close()
    for _ in range(100):  # the server notices at its next message
        if server.ask("GET", pages[0].path + "/value?slot=A&x=0&y=0")[0] == 404:
            break
        time.sleep(0.1)
    assert server.ask("GET", pages[0].path + "/value?slot=A&x=0&y=0")[0] == 404


def make_sequence(folder):
    """Two pairs in turn, four frames. Returns the arguments for them."""
    for side in "left", "right":
        (folder / side).mkdir(exist_ok=True)
        for frame in range(4):
            shutil.copy(folder / ("pair", "second")[frame % 2] / f"{side}.png", folder / side / f"{frame}.png")
    return "left", "right", "--method", "census", "--device", "cpu", "--disparities", "24"


def test_a_sequence_plays_to_its_end(serve, folder):
    server = serve(*make_sequence(folder))
    assert server.state["source"]["frames"] == 4
    page = Page(server)
    page.match(1)
    first = page.export("disparity.pfm")
    server.json("POST", page.path + "/play", {"frame": 1})
    while page.message("map")[0]["frame"] != 1:
        pass
    assert page.export("disparity.pfm") != first
    server.json("POST", page.path + "/play", {"frame": 2})
    while page.message("map")[0]["frame"] != 2:
        pass
    assert page.export("disparity.pfm") == first
    server.json("POST", page.path + "/play", {"playing": True, "frame": 0})
    while True:
        message, _ = page.message("sequence")
        if not message["playing"]:
            break
    assert message["frame"] == 3
    page.close()


def test_maps_of_a_sequence_are_steadied(serve, folder):
    texture = np.random.default_rng(4).integers(0, 255, (120, 230)).astype(np.uint8)
    noise = np.random.default_rng(5)
    for number in range(4):
        for side, first in (("left", 0), ("right", 6)):
            picture = texture[:, first : first + 200] // 2 + noise.integers(0, 30, (120, 200)).astype(np.uint8)
            write_gray(folder / f"{side}_{number}.png", picture)
    server = serve("left_%d.png", "right_%d.png", "--method", "census", "--device", "cpu", "--disparities", "16")
    page = Page(server)

    def shown(request, frame, temporal):
        server.json("POST", page.path + "/play", {"frame": frame, "playing": False})
        while page.message("pictures")[0]["frame"] != frame:
            pass
        start = dict(server.state["start"], slot="A", request=request, temporal=temporal)
        server.json("POST", page.path + "/settings", start)
        while True:
            message, planes = page.message("map")
            if message["request"] == request and message["frame"] == frame:
                return message, disparities(message, planes["disparity"])

    alone = [shown(10 + frame, frame, False)[1] for frame in range(4)]
    steadied = [shown(20 + frame, frame, True)[1] for frame in range(4)]
    assert np.array_equal(alone[0], steadied[0])
    inside = np.s_[10:-10, 20:-10]
    assert (
        np.std(np.array(steadied)[1:, *inside], axis=0).mean()
        < 0.8 * np.std(np.array(alone)[1:, *inside], axis=0).mean()
    )
    # The same frame once more is not one more frame; another one that does not follow is the first.
    message, again = shown(30, 3, True)
    assert np.array_equal(again, steadied[3]) and "--temporal" in message["commands"]["command_line"]
    assert np.array_equal(shown(31, 1, True)[1], alone[1])


def test_a_sequence_that_became_files_is_an_error(serve, folder):
    server = serve(*make_sequence(folder))
    page = Page(server)
    page.match(1)
    server.json("POST", page.path + "/play", {"frame": 3})
    while page.message("map")[0]["frame"] != 3:
        pass
    for side in "left", "right":
        moved = (folder / side).rename(folder / (side + "_moved"))
        shutil.copy(next(moved.iterdir()), folder / side)
    server.json("POST", page.path + "/play", {"frame": 1})
    assert "put their files back" in page.message("error")[0]["error"]
    for side in "left", "right":
        (folder / side).unlink()
        (folder / (side + "_moved")).rename(folder / side)
    pipe = sorted((folder / "left").iterdir())[1]  # a page waited for its writer
    pipe.rename(folder / "kept")
    os.mkfifo(pipe)
    server.json("POST", page.path + "/play", {"frame": 1})
    assert "is a pipe" in page.message("error")[0]["error"]
    pipe.unlink()
    (folder / "kept").rename(pipe)
    server.json("POST", page.path + "/play", {"frame": 2})
    while page.message("map")[0]["frame"] != 2:
        pass
    page.close()


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")
def test_maps_are_recorded(serve, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    server = serve(*make_sequence(folder))
    page = Page(server)
    record = page.path + "/record"
    assert "begin" in server.json("POST", record, {"recording": False}, status=400)["error"]
    server.json("POST", record, {"recording": True})
    assert "play" in server.json("POST", record, {"recording": False}, status=400)["error"]
    server.json("POST", record, {"recording": True})
    page.match(1)
    page.match(2, window=5)  # of the same frame: not recorded once more
    for frame in 1, 2:
        server.json("POST", page.path + "/play", {"frame": frame})
        while page.message("map")[0]["frame"] != frame:
            pass
    while page.message("sequence")[0]["recorded"] != 3:
        pass
    status, video = server.ask("POST", record, json.dumps({"recording": False}))
    assert status == 200 and video.startswith(b"RIFF")
    words = ["ffmpeg", "-v", "error", "-i", "-", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    frames = subprocess.run(words, input=video, capture_output=True, check=True).stdout
    frames = np.frombuffer(frames, np.uint8).reshape(-1, 120, 160, 3).astype(int)
    assert len(frames) == 3
    assert np.abs(frames[0] - frames[1]).mean() > 10 and np.ptp(frames[0], axis=2).mean() > 60  # in colours
    assert list(tmp_path.iterdir()) == []
    server.json("POST", record, {"recording": True})
    page.close()
    for _ in range(100):  # what was not finished goes with its page
        if list(tmp_path.iterdir()) == []:
            break
        time.sleep(0.1)
    assert list(tmp_path.iterdir()) == []


def refused(folder, *arguments):
    """What 'parallax view' says as it refuses to start."""
    words = [COMMAND, "view", *arguments, "--no-open"]
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60)
    assert ended.returncode in (1, 2) and ended.stdout == ""
    return ended.stderr


def test_a_host_that_is_not_this_machine_is_named(folder):
    pair = "pair/left.png", "pair/right.png"
    for host in "", "no-such-host.invalid", "192.0.2.1":
        assert "give --host an address of this machine" in refused(folder, *pair, "--host", host)


def test_a_sequence_has_no_truth(folder):
    assert "--truth is for a pair" in refused(folder, *make_sequence(folder), "--truth", "pair/disp0GT.pfm")


def test_the_token_is_not_among_the_words_of_the_browser(folder, tmp_path):
    script = tmp_path / "xdg-open"
    script.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/part\nmv {tmp_path}/part {tmp_path}/words\n')
    script.chmod(0o700)
    (tmp_path / "run").mkdir()
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    words = [COMMAND, "view", "pair/left.png", "pair/right.png", "--host", "0.0.0.0"]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        address = process.stdout.readline().strip()
        while not (tmp_path / "words").exists():
            time.sleep(0.01)
        opened = (tmp_path / "words").read_text().strip()
        assert "?token=" in address and "token=" not in opened
        page = opened.removeprefix("file://")
        with open(page) as text:
            assert f"url={address}" in text.read() and os.stat(page).st_mode & 0o777 == 0o600
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
    assert not os.path.exists(page)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")
def test_a_recording_that_is_interrupted_leaves_nothing(folder, tmp_path):
    server = Server(folder, *make_sequence(folder), env=os.environ | {"TMPDIR": str(tmp_path)})
    page = Page(server)
    server.json("POST", page.path + "/record", {"recording": True})
    assert list(tmp_path.iterdir()) != []
    server.stop()
    assert list(tmp_path.iterdir()) == []
    server = Server(folder, *make_sequence(folder), env=os.environ | {"TMPDIR": str(tmp_path / "gone")})
    page = Page(server)
    assert "set TMPDIR" in server.json("POST", page.path + "/record", {"recording": True}, status=400)["error"]
    server.stop()


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")
def test_a_recording_ends_before_its_file_is_too_large(serve, folder):
    words = [COMMAND, "synth", "large", "--size", "640x480", "--disparities", "24"]
    subprocess.run(words, cwd=folder, check=True)
    for side in "left", "right":
        (folder / f"long_{side}").mkdir()
        for frame in range(60):
            (folder / f"long_{side}" / f"{frame:02}.png").symlink_to(folder / "large" / f"{side}.png")
    # ffmpeg holds back several frames of 17 kB: the more, the slower it is.
    limit = 900_000
    server = serve(
        *("long_left", "long_right", "--method", "block", "--device", "cpu", "--disparities", "24"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    page = Page(server)
    page.match(1)
    server.json("POST", page.path + "/record", {"recording": True})
    server.json("POST", page.path + "/play", {"playing": True, "frame": 0})
    error = page.message("error")[0]["error"]
    said = re.fullmatch(
        r"the recording ended after (\d+) frames, because its file may not be larger: save it, .*", error
    )
    assert said, error
    while (message := page.message("sequence")[0])["playing"]:
        pass
    assert message["recorded"] == int(said[1]) > 1
    status, video = server.ask("POST", page.path + "/record", json.dumps({"recording": False}))
    assert status == 200 and limit // 2 < len(video) <= limit
    words = ["ffmpeg", "-v", "error", "-i", "-", "-f", "rawvideo", "-pix_fmt", "gray", "-"]
    decoded = subprocess.run(words, input=video, capture_output=True, check=True)
    assert decoded.stderr == b"" and len(decoded.stdout) == int(said[1]) * 640 * 480
    page.close()


def test_a_pair_is_not_recorded(page):
    error = page.server.json("POST", page.path + "/record", {"recording": True}, status=400)["error"]
    assert "save it as a picture" in error


# Takes the place of ffmpeg with a camera: pictures of both views side by side, ever brighter, until nobody reads them.
CAMERA = """#!{python}
import os, sys, time
assert sys.argv[sys.argv.index("-f") + 1] == "v4l2" and sys.argv[sys.argv.index("-i") + 1] == "/dev/video3"
os.write(3, b"#tb 0: 1/30\\n#dimensions 0: 128x48\\n")
for frame in range(10_000):
    os.write(3, b"0, %d, %d, 1, 18432, 0x0\\n" % (frame, frame))
    os.write(1, bytes([min(frame, 255)]) * 128 * 48 * 3)
    time.sleep(0.01)
"""


def test_a_camera_plays_by_itself_and_is_never_late(serve, tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text(CAMERA.format(python=os.sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])
    server = serve("--camera", "3", "--side-by-side", "--method", "census", "--device", "cpu", "--disparities", "8")
    assert server.state["source"]["kind"] == "camera"
    page = Page(server)
    numbers = []
    while len(numbers) < 5:
        message, planes = page.message("pictures")
        assert planes["left"].shape == (48, 64, 3)
        if numbers:
            assert message["frame"] > numbers[-1]
            assert planes["left"][0, 0, 0] >= min(message["frame"], 255)
        numbers.append(message["frame"])
    page.match(1)
    server.json("POST", page.path + "/play", {"playing": False})
    while page.message("sequence")[0]["playing"]:
        pass
    page.match(2)  # the same picture again
    server.json("POST", page.path + "/play", {"playing": True})
    assert page.message("pictures")[0]["frame"] > numbers[-1]
    page.close()


def test_cameras_are_named_as_they_should_be(folder):
    for arguments, says in (
        (["--camera", "0"], "--layout"),
        (["--camera", "0,1,2"], "3"),
        (["pair/left.png", "--camera", "0,1"], "leave out pair/left.png"),
        (["--camera", "/dev/nothing", "--side-by-side"], "/dev/nothing"),
        ([], "LEFT is required"),
        (["pair/left.png"], "RIGHT is required, or --layout if pair/left.png"),
    ):
        words = [COMMAND, "view", *arguments, "--no-open"]
        outcome = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60)
        assert outcome.returncode in (1, 2)
        assert says in outcome.stderr and outcome.stderr.count("\n") == 1, outcome.stderr


def test_without_the_server_it_says_what_to_install(folder, tmp_path):
    alone = tmp_path / "parallax"
    shutil.copy(COMMAND, alone)
    words = [alone, "view", "pair/left.png", "pair/right.png"]
    outcome = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60)
    assert outcome.returncode == 1
    assert "install the package parallax-view" in outcome.stderr and outcome.stderr.count("\n") == 1


def test_it_ends_with_its_last_page(serve):
    server = serve("pair/left.png", "pair/right.png", "--disparities", "24", "--once")
    page = Page(server)
    page.close()
    assert server.process.wait(timeout=60) == 0


def test_a_port_that_is_taken_is_an_error(server, folder):
    words = [COMMAND, "view", "pair/left.png", "pair/right.png", "--no-open", "--port", str(server.port)]
    outcome = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60)
    assert outcome.returncode == 1
    assert str(server.port) in outcome.stderr and outcome.stderr.count("\n") == 1
    words = words[:3] + ["missing.png"] + words[4:]
    outcome = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60)
    assert outcome.returncode == 1 and "missing.png" in outcome.stderr
