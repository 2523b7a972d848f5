# SPDX-License-Identifier: MIT
# A layer cannot include what lies below it: with the include path the build gives it, that does not
# compile. Shown for every pair, with a header of each layer.
python3 - <<'PY'
import json, os, subprocess, sys

order = ["base", "mem", "uring", "nvme", "blk", "backend", "virtio", "export", "bench", "daemon", "cli"]
# What a layer above may not see though it stands earlier in the list: knowledge that stays apart.
apart = {("virtio", "backend"), ("export", "backend"), ("export", "nvme"), ("virtio", "nvme"),
         ("blk", "nvme")}
with open("build/compile_commands.json") as f:
    commands = json.load(f)
header = {}
command = {}
for layer in order:
    headers = sorted(h for h in os.listdir(f"src/{layer}") if h.endswith(".h")) if os.path.isdir(f"src/{layer}") else []
    if headers:
        header[layer] = headers[0]
    for entry in commands:
        if f"src/{layer}/" in entry["file"]:
            command[layer] = entry["command"]
failed = False


def compiles(layer, name):
    words = [w for w in command[layer].split() if w.startswith("-I") or w.startswith("-std") or w.startswith("-D")]
    source = f'#include "{name}"\n'
    return subprocess.run(["gcc", *words, "-fsyntax-only", "-x", "c", "-"], input=source, text=True,
                          cwd="build", capture_output=True).returncode == 0


for i, layer in enumerate(order):
    if layer not in command:
        continue
    for j, other in enumerate(order):
        if other not in header or other == layer:
            continue
        if j > i or (layer, other) in apart:
            if compiles(layer, header[other]):
                print(f"not ok {layer} cannot include {other}: {header[other]} compiled")
                failed = True
            else:
                print(f"ok {layer} cannot include {other}")
    if layer in header:
        if compiles(layer, header[layer]):
            print(f"ok {layer} can include its own {header[layer]}")
        else:
            print(f"not ok {layer} can include its own {header[layer]}: it did not compile")
            failed = True
sys.exit(failed)
PY
rc=$?
if grep -rnE '#include "[^"]*/' src; then
	echo "not ok includes name no folder: see above"
	rc=1
else
	echo "ok includes name no folder"
fi
exit $rc
