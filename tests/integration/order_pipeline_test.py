#!/usr/bin/env python3
"""order_pipeline_test.py PROGRAM: the example goes on where a kill -9 has stopped it, and shows
on a terminal who does what."""
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "order_pipeline"
PATIENCE_SECONDS = 30


def numbers(pattern, text):
    found = re.search(pattern, text)
    if not found:
        raise AssertionError(f"no {pattern!r} in {text!r}")
    return [int(number) for number in found.groups()]


class OrderPipeline(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.store = pathlib.Path(self.folder.name) / "orders.db"

    def tearDown(self):
        self.folder.cleanup()

    def start(self, seconds, output):
        return subprocess.Popen([PROGRAM, f"--store={self.store}", f"--seconds={seconds}"],
                                stdout=output, text=True)

    def test_goes_on_where_it_was_killed(self):
        done = 0
        for _ in range(3):
            shop = self.start(60, subprocess.PIPE)
            self.assertEqual(shop.stdout.readline(), f"store: {self.store}\n")
            before, waiting = numbers(r"(\d+) orders done before, (\d+) wait",
                                      shop.stdout.readline())
            self.assertGreaterEqual(before, done)
            self.assertEqual(before + waiting > 0, done > 0)
            first = None
            for line in shop.stdout:
                jobs = numbers(r"(\d+) jobs done", line)[0]
                first = jobs if first is None else first
                if jobs >= first + 60:
                    break
            shop.kill()
            shop.wait()
            shop.stdout.close()
            done = before + 10  # an order is three jobs, and some waited from before
        last = self.start(1, subprocess.PIPE)
        output, _ = last.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(last.returncode, 0)
        before = numbers(r"(\d+) orders done before", output)[0]
        after = numbers(r"\n(\d+) orders done, (\d+) wait for the next time", output)[0]
        self.assertGreaterEqual(before, done)
        self.assertGreater(after, before)

    def test_shows_each_instance_on_a_terminal_until_it_is_interrupted(self):
        ours, theirs = pty.openpty()
        shop = self.start(60, theirs)
        os.close(theirs)
        screen = ""
        end = time.monotonic() + PATIENCE_SECONDS
        while screen.count("orders:4") < 4 and time.monotonic() < end:
            screen += os.read(ours, 65536).decode()
        shop.send_signal(signal.SIGINT)
        try:
            while rest := os.read(ours, 65536).decode():
                screen += rest
        except OSError:  # so a terminal ends
            pass
        self.assertEqual(shop.wait(timeout=PATIENCE_SECONDS), 0)
        os.close(ours)
        self.assertIn("orders done,", screen)
        picture = screen.split("\033[H\033[J")[-2]
        titles = "instance state job at done waiting retries dead jobs/s"
        self.assertIn(titles.split(), [line.split() for line in picture.splitlines()])
        for name, count in (("orders", 5), ("shipping", 2), ("mails", 1)):
            for index in range(count):
                self.assertRegex(picture, rf"{name}:{index} +(processing|idle) .*( +\d+){{5}}")


unittest.main()
