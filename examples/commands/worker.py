#!/usr/bin/env python3
"""A command worker in plain Python. Put your functions into TASKS; the rest can stay as it is.

A pool starts it as it is, and writes one task per line to its standard input:

    {"id":7,"task":"upper","payload":"hello"}

It answers with {"id":7,"ok":"HELLO"} or {"id":7,"error":"..."}. All of what can be written is in
docs/guides/command_workers.md. To try it by hand:

    echo '{"id":7,"task":"upper","payload":"hello"}' | ./worker.py
"""

import base64
import json
import os
import sys
import threading
import traceback

HEARTBEAT_SECONDS = 5


# --- your tasks: a function of the payload (str, or bytes if it is no text) and of `progress` -----

def echo(payload, progress):
    return payload


def upper(payload, progress):
    return payload.upper()


def total(payload, progress):
    """The payload is JSON: a list of numbers. What is returned may be anything JSON has."""
    numbers = json.loads(payload)
    for done, _ in enumerate(numbers):
        progress(done / len(numbers), f"{done} of {len(numbers)}")
    return {"count": len(numbers), "sum": sum(numbers)}


TASKS = {"echo": echo, "upper": upper, "total": total}


# --- how it talks to the pool -------------------------------------------------------------------

# Only answers may go to standard output. What anything else prints, libraries in C too, goes to
# standard error from here on.
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
lock = threading.Lock()


def write(**line):
    """One line, whole, at once: the heartbeat writes from another thread."""
    text = json.dumps(line, allow_nan=False)  # raises on what JSON does not have
    with lock:
        answers.write(text + "\n")
        answers.flush()


def beat():
    while True:
        write(heartbeat=True)
        if stopping.wait(HEARTBEAT_SECONDS):
            return


def run(request):
    number = request["id"]

    def progress(fraction, text=""):
        write(id=number, progress=fraction, text=text)

    try:
        if "payload_base64" in request:
            payload = base64.b64decode(request["payload_base64"])
        else:
            payload = request["payload"]
        result = TASKS[request["task"]](payload, progress)
        if isinstance(result, bytes):
            write(id=number, ok_base64=base64.b64encode(result).decode())
        else:
            write(id=number, ok=result)
    except Exception as error:  # whatever a task raises is its failure, not the worker's end
        traceback.print_exc()
        write(id=number, error=f"{type(error).__name__}: {error}")


stopping = threading.Event()
threading.Thread(target=beat, daemon=True).start()
for line in open(0, encoding="utf-8", newline="\n"):
    run(json.loads(line))
stopping.set()  # the pool has closed our input: there are no more tasks
