# SPDX-License-Identifier: Apache-2.0
import os
import shutil

import pytest

import cluster as slurm


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """One cluster for all tests. CTest starts them in their own namespaces."""
    if shutil.which("slurmctld") is None or shutil.which("munged") is None:
        pytest.skip("needs slurm-wlm and munge")
    if os.getpid() > 2:
        pytest.skip("needs unshare --pid --fork --kill-child --mount-proc --net")
    slurm.bring_up_loopback()
    started = slurm.Cluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.stop()


@pytest.fixture(autouse=True)
def nothing_is_left(request):
    yield
    if "cluster" not in request.fixturenames:
        return
    cluster = request.getfixturevalue("cluster")
    cluster.cancel_all()
    cluster.restart_dead_nodes()
