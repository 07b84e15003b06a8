"""executor.py: Python's own pool of processes, asked the same as measure.mjs asks those of Node."""
import collections
import concurrent.futures
import json
import math
import sys
import time

WORKERS = 2
OUTSTANDING = 1000
WARM_UP_TASKS = 500


def empty():
    pass


def flood(pool, count, _silence_us):
    waiting = collections.deque()
    for _ in range(count):
        if len(waiting) == OUTSTANDING:
            waiting.popleft().result()
        waiting.append(pool.submit(empty))
    for future in waiting:
        future.result()
    return []


def make_trips(pool, count, silence_us):
    times_us = []
    for _ in range(count):
        if silence_us > 0:
            time.sleep(silence_us / 1e6)
        start = time.perf_counter()
        pool.submit(empty).result()
        times_us.append((time.perf_counter() - start) * 1e6)
    return times_us


def percentile(ordered, share):
    return ordered[max(1, math.ceil(share * len(ordered))) - 1] if ordered else 0


def main():
    work = {"empty": flood, "round-trip": make_trips}[sys.argv[1]]
    count = int(sys.argv[2])
    silence_us = int(sys.argv[3])
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as pool:
        work(pool, WARM_UP_TASKS, 0)
        start = time.perf_counter()
        times_us = sorted(work(pool, count, silence_us))
        seconds = time.perf_counter() - start
    answer = {"items": count, "seconds": seconds,
              "p50_us": percentile(times_us, 0.5), "p99_us": percentile(times_us, 0.99)}
    print(json.dumps(answer, separators=(",", ":")))


if __name__ == "__main__":
    main()
