# SPDX-License-Identifier: Apache-2.0
"""Checks that an installed 'parallax view' finds its server and answers: view.py FOLDER PROGRAM"""
import json
import re
import subprocess
import sys
import urllib.request

folder, program = sys.argv[1:]
subprocess.run([program, "synth", "pair", "--size", "96x64", "--disparities", "16"], cwd=folder, check=True)
words = [program, "view", "pair/left.png", "pair/right.png", "--no-open"]
with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
    try:
        address = server.stdout.readline().strip()
        page = urllib.request.urlopen(address, timeout=60).read().decode()
        token = re.search(r'name="token" content="(\w+)"', page)[1]
        request = urllib.request.Request(address + "state", headers={"X-Parallax-Token": token})
        state = json.load(urllib.request.urlopen(request, timeout=60))
        assert state["source"]["left"] == "pair/left.png", state["source"]
    finally:
        server.terminate()
