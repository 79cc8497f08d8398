"""Runs a program in a terminal, waits for texts, sends keys, and sees that the terminal is left as it was.

terminal.py WAIT KEYS [WAIT KEYS ...] -- PROGRAM ARGS...

WAIT is a text of the screen; the program has to end by itself after the last keys.
"""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

split = sys.argv.index("--")
script, program = sys.argv[1:split], sys.argv[split + 1:]
controller, terminal = pty.openpty()
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
before = termios.tcgetattr(terminal)
started = time.monotonic()
child = subprocess.Popen(program, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True)
output = b""


def read_until(done, what):
    """Reads until the output fits; a minute without it is a failure."""
    global output
    while not done():
        if time.monotonic() - started > 60:
            sys.exit(f"FAILED: waited in vain for {what!r}")
        if select.select([controller], [], [], 0.02)[0]:
            output += os.read(controller, 65536)


def text(part):
    """The output without escape sequences: words that were written in one go."""
    return re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)", b"", part)


seen = 0
for wait, keys in zip(script[::2], script[1::2]):
    read_until(lambda: wait.encode() in text(output[seen:]), wait)
    seen = len(output)
    print(f"{wait!r} after {time.monotonic() - started:.3f} s")
    sent = time.monotonic()
    os.write(controller, keys.encode())
read_until(lambda: child.poll() is not None, "the end")
print(f"ended {time.monotonic() - sent:.3f} s after the last key with code {child.returncode}")
read_until(lambda: not select.select([controller], [], [], 0)[0], "the last output")
after = termios.tcgetattr(terminal)
assert child.returncode == 0, output[-2000:]
assert after == before, "the modes of the terminal are not as before"
for enter, leave in ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?25l", b"\x1b[?25h"), (b"\x1b[?1000h", b"\x1b[?1000l")):
    assert output.rfind(leave) > output.rfind(enter) >= 0, f"{enter!r} was not undone"
