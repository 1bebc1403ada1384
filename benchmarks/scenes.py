#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Errors on scenes of all kinds: tables, driving, rooms and forests, rendered scenes, a light field.

    export PYTHONPATH=python PARALLAX_LIBRARY=build/developer/shared/libparallax.so
    python3 benchmarks/scenes.py table DATA
    python3 benchmarks/scenes.py table DATA bp edge_contrast=20 refit=9
    python3 benchmarks/scenes.py choose DATA bp edge_contrast=7,20,40 data_truncation=0,24
    python3 benchmarks/scenes.py ranges DATA
    python3 benchmarks/scenes.py skies DATA
    python3 benchmarks/scenes.py worst DATA worst.png
    python3 benchmarks/scenes.py confidence DATA bp

DATA is the folder that PARALLAX_DATA names for the tests. The first prints every method and preset, the second one
method with parameters. The third tries every combination of the values and prints the best: for all sets, and for
each set the one that the other sets choose, with what it is worth on the set left out. The fourth prints the range of
disparities that the check recommends for every pair, beside the true one, and how often it is right (99.5 % of the true
disparities inside) and narrow (at most 1.5 times as wide as needed), also for pairs of half size, mirrored, and parts. The
fifth prints how much of a sky is near, with and without the rejection of unseen regions. The sixth draws the ten pairs on
which bp has the most errors, with the maps of the defaults of 0.1 beside them. The last prints how well the confidence
tells which pixels are wrong, and what min_confidence keeps.
"""

import itertools
import os
import pathlib
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import parallax_stereo as px
from choosing import METHODS
from error_causes import gray, pairs_of_2003, pairs_of_2014

SETS = ("middlebury2014", "middlebury2003", "eth3d", "kitti", "flyingthings", "lightfield")
# First and number of disparities, for all pairs of a set.
RANGES = {"eth3d": (0, 64), "kitti": (0, 192), "flyingthings": (0, 192), "lightfield": (-16, 32)}
# bp's defaults of 0.1.
BEFORE = {"data_truncation": 0, "census_tolerance": 0, "edge_contrast": 7, "rows": "given"}


def field_pairs(folder, first, labels):
    for pair in sorted(folder.iterdir()):
        left, right = (px.read(str(pair / f"{side}.png")) for side in ("left", "right"))
        if (pair / "truth.png").exists():
            stored = px.read(str(pair / "truth.png"))
            truth = np.where(stored == 0, np.inf, stored.astype(np.float32) / 256)
        else:
            truth = px.read(str(pair / "disp0GT.pfm"))
        if (pair / "mask0nocc.png").exists():
            seen = px.read(str(pair / "mask0nocc.png")) == 255
        else:
            # No mask says what is hidden in the right image, but what lies outside it is known.
            seen = np.arange(truth.shape[1]) - np.where(np.isfinite(truth), truth, 0) >= 0
        yield pair.name, left, right, first, labels, truth, seen


def load(data, name):
    """The pairs of a set: name, both images, first and number of disparities, truth, pixels that both cameras see."""
    if name.startswith("middlebury"):
        pairs = (pairs_of_2003 if name.endswith("2003") else pairs_of_2014)(data / name)
        return [(pair, left, right, 0, labels, truth, seen) for pair, left, right, labels, truth, seen in pairs]
    folders = [data / "field" / f"{name}{year}" for year in (("2012", "2015") if name == "kitti" else ("",))]
    return [pair for folder in folders for pair in field_pairs(folder, *RANGES[name])]


def errors(disparity, truth, seen):
    """Per cent of seen pixels off by more than 1, of all likewise, of all by KITTI's rule: 3 pixels and 5 %."""
    known = np.isfinite(truth)
    with np.errstate(invalid="ignore"):
        off = np.where(np.isfinite(disparity), np.abs(disparity - truth), np.inf)
        wrong = off > 1
        d1 = (off > 3) & (off > 0.05 * np.abs(truth))
    return [100 * part.mean() for part in (wrong[known & seen], wrong[known], d1[known])]


def sparsification(disparity, confidence, truth):
    """The area under the share of pixels off by more than 1 among the surest, over all densities (Hu & Mordohai 2012),
    and the least that any confidence could have. Of equally sure pixels, wrong ones come in proportion."""
    known = np.isfinite(truth)
    wrong = ~(np.abs(disparity[known] - truth[known]) <= 1)
    _, group, counts = np.unique(-confidence[known], return_inverse=True, return_counts=True)
    counts, bad = counts.astype(float), np.bincount(group.ravel(), wrong)
    kept, found = np.cumsum(counts), np.cumsum(bad)
    before, rate = kept - counts, bad / counts
    # From `before` to `kept` of the surest pixels n, the share is (found before + rate·(n − before)) / n.
    growth = np.log(kept / np.maximum(before, 1))
    area = (rate * counts + np.where(before > 0, (found - bad - rate * before) * growth, 0)).sum() / kept[-1]
    share = wrong.mean()
    return [area, share + (1 - share) * np.log1p(-share)]


def kept(disparity, truth):
    """Per cent of pixels of known disparity that have one, and of these, those off by more than 1."""
    known = np.isfinite(truth)
    has = known & np.isfinite(disparity)
    wrong = np.abs(disparity[has] - truth[has]) > 1
    return [100 * has.sum() / known.sum(), 100 * wrong.mean() if wrong.size else 0]


def filled_along_rows(disparity):
    """Holes take the lower of the neighbours on their row, as in KITTI's development kit; rows without any, 0."""
    width = disparity.shape[1]
    known, columns = np.isfinite(disparity), np.arange(width)
    before = np.maximum.accumulate(np.where(known, columns, -1), axis=1)
    after = np.minimum.accumulate(np.where(known, columns, width)[:, ::-1], axis=1)[:, ::-1]
    bordered = np.pad(disparity, ((0, 0), (1, 1)), constant_values=np.inf)
    lower = np.minimum(*(np.take_along_axis(bordered, neighbour + 1, axis=1) for neighbour in (before, after)))
    return np.where(np.isfinite(lower), lower, 0)


def stereo_sgbm(mode, left, right, first, labels, fills=True):
    """OpenCV's StereoSGBM with the parameters of its sample; HH+ matches pictures that are wider on the
    left, so that it has values there, too."""
    import cv2

    mode, plus = mode.rstrip("+"), mode.endswith("+")
    left, right = (gray(image).astype(np.uint8) for image in (left, right))
    labels = (labels + 15) // 16 * 16
    border = labels + max(first, 0) if plus else 0
    images = [cv2.copyMakeBorder(image, 0, 0, border, 0, cv2.BORDER_REPLICATE) for image in (left, right)]
    matcher = cv2.StereoSGBM_create(
        minDisparity=first,
        numDisparities=labels,
        blockSize=5,
        P1=8 * 25,
        P2=32 * 25,
        disp12MaxDiff=1,
        uniquenessRatio=10,
        speckleWindowSize=100,
        speckleRange=32,
        mode=getattr(cv2, f"STEREO_SGBM_MODE_{mode}"),
    )
    disparity = matcher.compute(*images)[:, border:].astype(np.float32) / 16
    disparity = np.where(disparity < first, np.inf, disparity)
    return filled_along_rows(disparity) if fills else disparity


class Trials:
    """Matches pairs in several processes: a match on one thread wastes least."""

    def __init__(self, data, processes=None):
        self.pairs = [(name, pair) for name in SETS for pair in load(data, name)]
        Trials.shared = self.pairs  # inherited by the processes
        self.processes = ProcessPoolExecutor(processes or os.cpu_count())

    @staticmethod
    def one(task):
        method, parameters, index = task
        _, left, right, first, labels, truth, seen = Trials.shared[index][1]
        if method == "StereoSGBM":
            disparity = stereo_sgbm(parameters["mode"], left, right, first, labels, parameters.get("fill") != "none")
            confidence = np.ones_like(disparity)
        else:
            options = {"threads": 1, "min_disparity": first, "confidence": True, **parameters}
            result = px.match(left, right, labels, method, "cpu", **options)
            disparity, confidence = result.disparity, result.confidence
        return errors(disparity, truth, seen) + sparsification(disparity, confidence, truth) + kept(disparity, truth)

    def errors(self, method, settings):
        """For each setting, the errors, the areas of sparsification and kept() of each pair."""
        count = len(self.pairs)
        tasks = [(method, setting, index) for setting in settings for index in range(count)]
        found = self.processes.map(Trials.one, tasks)
        for _ in settings:
            yield np.array([next(found) for _ in range(count)])

    def means(self, by_pair):
        """The mean over the pairs of each set."""
        return {s: by_pair[[i for i, (name, _) in enumerate(self.pairs) if name == s]].mean(axis=0) for s in SETS}


def row(name, means):
    # Middlebury's tables count all pixels by the same rule, the others by KITTI's.
    cells = [f"{e[0]:.2f} / {e[1 if s.startswith('middlebury') else 2]:.2f}" for s, e in means.items()]
    return f"| {name} | " + " | ".join(cells) + " |"


def head():
    return "| bad1 seen / bad1 all or D1 all | " + " | ".join(SETS) + " |\n|---|" + "--:|" * len(SETS)


def parse(words):
    """All combinations of the values of NAME=VALUE,VALUE…"""
    names, values = zip(*(word.split("=") for word in words)) if words else ((), ())
    return [dict(zip(names, chosen)) for chosen in itertools.product(*(v.split(",") for v in values))]


def table(trials, words):
    if words:
        runs = [(words[0], setting) for setting in parse(words[1:])]
    else:
        runs = [(method, {"preset": preset}) for method, preset in METHODS]
        runs += [("StereoSGBM", {"mode": mode}) for mode in ("SGBM", "HH", "HH+")]
    print(head())
    for method, setting in runs:
        (by_pair,) = trials.errors(method, [setting])
        print(row(" ".join([method, *(f"{n}={v}" for n, v in setting.items())]), trials.means(by_pair)), flush=True)


def loss(means, baseline, sets):
    """The geometric mean of the errors over those of the defaults, both measures alike."""
    ratios = [np.log(means[s][[0, 2]] / baseline[s][[0, 2]]) for s in sets]
    return float(np.exp(np.mean(ratios)))


def choose(trials, words):
    settings = [{}, *parse(words[1:])]
    print(head())
    results = []
    for setting, by_pair in zip(settings, trials.errors(words[0], settings)):
        results.append(trials.means(by_pair))
        name = " ".join(f"{n}={v}" for n, v in setting.items()) or "defaults"
        print(row(f"{name} ({loss(results[-1], results[0], SETS):.3f})", results[-1]), flush=True)

    def best(sets):
        return min(range(len(results)), key=lambda i: loss(results[i], results[0], sets))

    print(f"\n{len(settings)} trials. Best for all sets: {settings[best(SETS)]}")
    for left_out in SETS:
        chosen = best([s for s in SETS if s != left_out])
        worth = loss(results[chosen], results[0], [left_out])
        print(f"without {left_out}: {settings[chosen]}; on {left_out}, {worth:.3f} times the errors of the defaults")


def versions(name, left, right, truth):
    """A pair, half of its size, mirrored, and four parts of a quarter to half of its width and height."""
    height, width = truth.shape
    known = np.where(np.isfinite(truth), truth, np.nan)
    yield "as it is", left, right, known
    halves = [
        image[: height // 2 * 2, : width // 2 * 2].reshape(height // 2, 2, width // 2, 2, -1).mean(axis=(1, 3)).round()
        for image in (left, right)
    ]
    yield "half", *(half.astype(left.dtype).squeeze() for half in halves), known[::2, ::2] / 2
    yield "mirrored", right[:, ::-1], left[:, ::-1], known
    random = np.random.default_rng(zlib.crc32(name.encode()))
    for _ in range(4):
        share = random.uniform(0.25, 0.5)
        rows, columns = int(share * height), int(share * width)
        y, x = random.integers(height - rows + 1), random.integers(width - columns + 1)
        part, *images = (values[y : y + rows, x : x + columns] for values in (known, left, right))
        with np.errstate(invalid="ignore"):
            column = np.arange(columns) - part
            yield "part", *images, np.where((column >= 0) & (column < columns), part, np.nan)


class FoundRange:
    """What the check says of a pair, and of its exchange. A range needs as many multiples of 16 disparities as hold the
    central 99.5 % of the true ones."""

    def __init__(self, left, right, truth):
        left, right = (np.ascontiguousarray(image) for image in (left, right))
        report, exchanged = px.check(left, right), px.check(right, left)
        self.verdicts = report.verdict, exchanged.verdict
        true = truth[np.isfinite(truth)]
        self.true = np.quantile(true, (0.0025, 0.9975))
        need = 16 * int(np.ceil((np.ceil(self.true[1]) - np.floor(self.true[0]) + 1) / 16))
        try:
            first, labels = report.range["min_disparity"], report.range["disparities"]
        except px.ArgumentError:
            first, labels = 0, 0
        self.first, self.last, self.width = first, first + labels - 1, labels / need
        self.inside = ((true >= first) & (true <= self.last)).mean()
        self.seen, self.sure = report.seen, report.sure

    @property
    def is_right(self):
        return self.inside >= 0.995

    @property
    def is_narrow(self):
        return 0 < self.width <= 1.5


def find_ranges(data, wanted):
    """(name, FoundRange) of the wanted versions of all pairs."""
    for name in SETS:
        for pair, left, right, _, _, truth, _ in load(data, name):
            for version, *images, true in versions(name + pair, left, right, truth):
                if version in wanted and np.isfinite(true).sum() >= 500:
                    yield f"{name}/{pair}", FoundRange(*images, true)


def totals(found):
    right, narrow, sure = (np.array([getattr(f, what) for f in found]) for what in ("is_right", "is_narrow", "sure"))
    exchanged = [sum(f.verdicts[i] == "exchanged" for f in found) for i in range(2)]
    return [len(found), right.sum(), narrow.sum(), (right & narrow).sum(), sure.sum(), (right & sure).sum(), *exchanged]


def ranges(data):
    print("| pair | true, central 99.5 % | found | true inside | width / need | seen | verdict | exchanged |")
    print("|---|--:|--:|--:|--:|--:|---|---|")
    whole = []
    for name, f in find_ranges(data, ("as it is",)):
        whole.append(f)
        cells = [f"{f.true[0]:.1f} to {f.true[1]:.1f}", f"{f.first} to {f.last}", f"{100 * f.inside:.2f} %"]
        cells += [f"{f.width:.2f}", f"{100 * f.seen:.0f} %" + ("" if f.sure else ", not sure"), *f.verdicts]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print("\n| pairs | number | inside | narrow | both | sure | inside, sure | called exchanged | exchanged found |")
    print("|---|" + "--:|" * 8)
    for version in ("as it is", "half", "mirrored", "part"):
        found = whole if version == "as it is" else [f for _, f in find_ranges(data, (version,))]
        print(f"| {version} | " + " | ".join(map(str, totals(found))) + " |", flush=True)


def share_of_near(left, right, labels, sky, method, **parameters):
    """Per cent of the sky that has a disparity above 8 px, and of all other pixels that have one."""
    disparity = px.match(left, right, labels, method, "cpu", **parameters).disparity
    return 100 * (np.isfinite(disparity) & (disparity > 8))[sky].mean(), 100 * np.isfinite(disparity[~sky]).mean()


def skies(data):
    print("| pair | method | | dense | `--fill none` | other pixels with a value |\n|---|---|---|--:|--:|--:|")
    for folder in sorted((data / "field" / "sky").iterdir()):
        left, right, mask = (px.read(str(folder / f"{name}.png")) for name in ("left", "right", "sky"))
        for method, rejects in itertools.product(("bp", "sgm"), (False, True)):
            pair = left, right, 192, mask == 255, method
            dense, _ = share_of_near(*pair, reject_unseen=rejects)
            sparse, coverage = share_of_near(*pair, reject_unseen=rejects, fill="none")
            name = "`--reject-unseen`" if rejects else "default"
            print(f"| {folder.name} | `{method}` | {name} | {dense:.1f} | {sparse:.2f} | {coverage:.1f} |", flush=True)


def wrong_pixels(disparity, truth):
    """White where right to 1 pixel, red where off by more than 3, orange between, gray where the truth is not known."""
    known = np.isfinite(truth)
    with np.errstate(invalid="ignore"):
        off = np.abs(disparity - truth)
    kind = np.where(known, (off > 1).astype(int) + (off > 3), 3)
    return np.array([(255, 255, 255), (255, 170, 60), (210, 30, 30), (150, 150, 150)], np.uint8)[kind]


def worst(trials, words):
    """One row for each pair: the map of the defaults of 0.1, that of today's, and its wrong pixels."""
    from PIL import Image, ImageDraw

    width, height = 240, 125
    by_pair = list(trials.errors("bp", [BEFORE, {}]))
    chosen = np.argsort(-by_pair[1][:, 0])[:10]
    sheet = Image.new("RGB", (3 * width, len(chosen) * (height + 16)), "white")
    for i, index in enumerate(chosen):
        name, (pair, left, right, first, labels, truth, _) = trials.pairs[index]
        top = i * (height + 16)
        text = f"{name}/{pair}: {by_pair[0][index, 0]:.1f} to {by_pair[1][index, 0]:.1f} % off by more than 1 px"
        ImageDraw.Draw(sheet).text((4, top + 2), text, "black")
        before, after = (px.match(left, right, labels, min_disparity=first, **s) for s in (BEFORE, {}))
        scale = np.quantile(truth[np.isfinite(truth)], (0.001, 0.999))
        maps = [before.colour(*scale), after.colour(*scale), wrong_pixels(after.disparity, truth)]
        for column, picture in enumerate(maps):
            small = Image.fromarray(picture)
            small.thumbnail((width - 4, height))
            sheet.paste(small, (column * width, top + 16))
    sheet.quantize(64).save(words[0], optimize=True)


def confidence(trials, words):
    """How much larger the area of sparsification of the defaults' map is than the least one, and, without filling, the
    per cent of pixels that min_confidence keeps / of these, the per cent that are off by more than 1."""
    (method,) = words
    (peer,) = trials.errors("StereoSGBM", [{"mode": "HH", "fill": "none"}])
    settings = [{}] + [{"min_confidence": least, "fill": "none"} for least in (0, 0.7, 0.8, 0.9, 0.95, 0.98)]

    def cells_of(means):
        return [f"{kept:.1f} / {wrong:.2f}" for *_, kept, wrong in means.values()]

    print("| " + " | ".join([method, *SETS]) + " |\n|---|" + "--:|" * len(SETS))
    print("| " + " | ".join(["StereoSGBM HH, not filled", *cells_of(trials.means(peer))]) + " |")
    for setting, by_pair in zip(settings, trials.errors(method, settings)):
        means, name = trials.means(by_pair), f"min_confidence {setting.get('min_confidence')}"
        cells = cells_of(means)
        if not setting:
            name = "area / least"
            cells = [f"{100 * m[3]:.2f} / {100 * m[4]:.2f} = {m[3] / m[4]:.1f}" for m in means.values()]
        print("| " + " | ".join([name, *cells]) + " |", flush=True)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "ranges":
        return ranges(pathlib.Path(sys.argv[2]))
    if len(sys.argv) == 3 and sys.argv[1] == "skies":
        return skies(pathlib.Path(sys.argv[2]))
    commands = {"table": table, "choose": choose, "worst": worst, "confidence": confidence}
    if len(sys.argv) < (4 if sys.argv[1:2] in (["worst"], ["confidence"]) else 3) or sys.argv[1] not in commands:
        sys.exit(__doc__)
    commands[sys.argv[1]](Trials(pathlib.Path(sys.argv[2])), sys.argv[3:])


if __name__ == "__main__":
    main()
