# SPDX-License-Identifier: Apache-2.0
"""The errors of a calibration as text and as values for JSON."""

from __future__ import annotations

from typing import Any, Callable, Dict

from ._calibration_fit import Calibration, coverage, rms


def print_summary(result: Calibration, length: Callable[[float], str]) -> None:
    """Prints the errors for people. `length` writes a length in the unit of the board with its unit."""
    print(f"{'pairs':<11}{len(result.shots)}")
    for side, name in enumerate(("left", "right")):
        print(f"{name:<11}{_camera_text(result, side)}")
    print(f"{'stereo':<11}error {result.error:.3f} px")
    print(f"{'rows off':<11}median {result.rows_off(0.5):.3f} px, 95 % below {result.rows_off(0.95):.3f} px")
    print(f"{'baseline':<11}{length(result.rig.baseline)}")
    _print_pairs(result)


def _camera_text(result: Calibration, side: int) -> str:
    camera = (result.rig.left, result.rig.right)[side]
    k, share = camera.matrix, coverage(result.views(side), camera.size)
    return (
        f"error {result.alone[side]:.3f} px alone, focal length {k[0, 0]:.2f}, {k[1, 1]:.2f} px, "
        f"principal point {k[0, 2]:.2f}, {k[1, 2]:.2f} px, corners in {100 * share:.0f} % of the picture"
    )


def _print_pairs(result: Calibration) -> None:
    names = [str(shot) for shot in result.shots]
    width = max(len(name) for name in names)
    print(f"\n{'error, px':<{width}}   left  right  rows off")
    for name, residual in zip(names, result.residuals):
        rows = float(abs(residual.rows).mean())
        print(f"{name:<{width}}  {rms(residual.left):5.3f}  {rms(residual.right):5.3f}     {rows:5.3f}")


def values(result: Calibration, unit: str) -> Dict[str, Any]:
    """The errors as values for JSON."""
    outliers = result.outliers()
    return {
        "error": result.error,
        "left_error_alone": result.alone[0],
        "right_error_alone": result.alone[1],
        "rows_off": {"median": result.rows_off(0.5), "p95": result.rows_off(0.95)},
        "baseline": result.rig.baseline,
        "unit": unit,
        "pairs": [
            {
                "left": str(shot.names[0]),
                "right": str(shot.names[1]),
                "corners": len(residual.rows),
                "left_error": rms(residual.left),
                "right_error": rms(residual.right),
                "outlier": index in outliers,
            }
            for index, (shot, residual) in enumerate(zip(result.shots, result.residuals))
        ],
    }
