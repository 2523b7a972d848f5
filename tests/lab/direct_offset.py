# SPDX-License-Identifier: MIT
"""direct_offset.py DEVICE OFFSET: O_DIRECT to and from memory at OFFSET within a page, checked."""
import mmap
import os
import sys

device, offset = sys.argv[1], int(sys.argv[2])
fd = os.open(device, os.O_RDWR | os.O_DIRECT)
memory = mmap.mmap(-1, 4 << 20)
view = memoryview(memory)
for index, length in enumerate((4096, 8192, 65536, 131072, 1 << 20)):
    data = os.urandom(length)
    view[offset:offset + length] = data
    assert os.pwritev(fd, [view[offset:offset + length]], index << 21) == length
    view[:] = bytes(len(view))
    assert os.preadv(fd, [view[offset:offset + length]], index << 21) == length
    if bytes(view[offset:offset + length]) != data:
        sys.exit(f"note: {length} bytes at memory offset {offset} differ")
    if any(view[:offset]) or any(view[offset + length:offset + length + 65536]):
        sys.exit(f"note: bytes beside {length} at memory offset {offset} were written")
