# SPDX-License-Identifier: MIT
"""fio_whole.py RESULT.json BLOCKSIZE: exit 0 when fio moved whole blocks and every one of them."""
import json
import sys


def size(text):
    units = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
    unit = units.get(text[-1].lower())
    return int(text[:-1]) * unit if unit else int(text)


def main():
    with open(sys.argv[1]) as f:
        text = f.read()
    jobs = json.loads(text[text.index("{"):])["jobs"]
    block = size(sys.argv[2])
    for job in jobs:
        if job["error"]:
            sys.exit(f"note: fio says error {job['error']}")
        if job["write"]["total_ios"] == 0 or job["read"]["total_ios"] == 0:
            sys.exit("note: fio wrote or read nothing")
        for way in ("read", "write"):
            part = job[way]
            if part["short_ios"] or part["drop_ios"]:
                sys.exit(f"note: fio {way}: {part['short_ios']} short, {part['drop_ios']} dropped")
            if part["io_bytes"] != part["total_ios"] * block:
                sys.exit(f"note: fio {way}: {part['io_bytes']} bytes in {part['total_ios']} I/Os of {block}")


main()
