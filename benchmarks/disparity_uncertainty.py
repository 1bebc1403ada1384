#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the uncertainty of disparities, without gross errors, on Middlebury's pairs of 2014 at quarter size.

    PYTHONPATH=python PARALLAX_LIBRARY=build/developer/shared/libparallax.so \\
        python3 benchmarks/disparity_uncertainty.py DATA [METHOD [NAME=VALUE ...]]

DATA is the folder that PARALLAX_DATA names for the tests, options are keywords of parallax_stereo.match(). Prints, for
each pair, the share of the disparities that are off by at most 1 px, and the error that 68.3 % of those do not exceed:
the standard deviation, if the errors are normal. Counted are the pixels that both cameras see and that have a disparity
without filling. Prints the table of docs/measurements/accuracy.md.
"""

import sys

import numpy as np
from error_causes import arguments, pairs_of_2014

import parallax_stereo as px


def main():
    data, method, options = arguments(*sys.argv[1:])
    rows = []
    for name, left, right, labels, truth, seen in pairs_of_2014(data / "middlebury2014"):
        disparity = px.match(left, right, labels, method, **{"fill": "none", **options}).disparity
        known = seen & np.isfinite(truth) & np.isfinite(disparity)
        errors = np.abs(disparity[known] - truth[known])
        small = errors[errors <= 1]
        rows.append((len(small) / len(errors), np.quantile(small, 0.683)))
        print(f"{name:12} {100 * rows[-1][0]:5.1f} % {rows[-1][1]:.3f} px")
    share, deviation = np.mean(rows, axis=0)
    print(f"{'mean':12} {100 * share:5.1f} % {deviation:.3f} px")


main()
