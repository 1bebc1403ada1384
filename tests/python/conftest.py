# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any, Tuple

import numpy as np
import pytest

import parallax_stereo as px


@pytest.fixture(scope="session")
def pair() -> Tuple[Any, Any, Any]:
    """Left, right and truth; shared, so not to be written."""
    images = px.synthesize((120, 80), 16)
    for image in images:
        image.flags.writeable = False
    return images


@pytest.fixture(scope="session")
def gray(pair: Tuple[Any, Any, Any]) -> Tuple[Any, Any]:
    return tuple(np.ascontiguousarray(image[:, :, 1]) for image in pair[:2])  # type: ignore[return-value]
