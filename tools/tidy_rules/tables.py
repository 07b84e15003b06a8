"""What the rules know about this project: its layers, its limits, and who is excused and why."""

# Low to high. Layers of one rank never include each other.
LAYER_RANKS = (
    ("base",), ("sync",), ("queues",), ("observe",), ("policy",), ("threads", "processes"),
    ("jobs",), ("server",), ("cli",),
)

# `export` stands beside the ranks.
EXPORT_MAY_INCLUDE = ("base", "sync", "queues", "observe")
MAY_INCLUDE_EXPORT = ("server", "cli")

# Headers that users name stand directly in include/muster/, so no folder tells their layer; neither
# does include/muster/detail/. Add a new one here, e.g. "detail/join.hpp": "threads".
PUBLIC_HEADERS = {
    "error.hpp": "base",
    "version.hpp": "base",
    "blocking.hpp": "sync",
    "future.hpp": "sync",
    "when.hpp": "sync",
    "metrics.hpp": "observe",
    "pool_options.hpp": "policy",
    "strategy.hpp": "policy",
    "join.hpp": "threads",
    "simulation.hpp": "threads",
    "strand.hpp": "threads",
    "task.hpp": "threads",
    "task_group.hpp": "threads",
    "task_options.hpp": "threads",
    "thread_pool.hpp": "threads",
    "thread_pool_options.hpp": "threads",
    "timer.hpp": "threads",
    "byte_reader.hpp": "processes",
    "byte_writer.hpp": "processes",
    "bytes.hpp": "processes",
    "codec.hpp": "processes",
    "codec_described.hpp": "processes",
    "detail/codec_parts.hpp": "processes",
    "detail/handler.hpp": "processes",
    "payload.hpp": "processes",
    "process_error.hpp": "processes",
    "process_pool.hpp": "processes",
    "process_pool_options.hpp": "processes",
    "registry.hpp": "processes",
    "task_context.hpp": "processes",
    "worker_main.hpp": "processes",
    "job_pool.hpp": "jobs",
}

# May include anything; nothing in include/ and src/ may include them.
OUTSIDE_FOLDERS = ("tests", "bench", "examples")

FORBIDDEN_FOLDERS = frozenset({"util", "utils", "common", "misc", "helpers"})

MAX_HEADER_LINES = 300
MAX_SOURCE_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_COLUMNS = 100

# (rule, pattern of paths, reason)
EXEMPT = (
    ("sync-tags", "include/muster/sync/atomic.hpp",
     "the seam defines the orders; whoever passes one to it names the partner"),
    ("sync-tags", "include/muster/sync/fence.hpp",
     "defines the fences; whoever calls one names the partner"),
    ("sync-tags", "include/muster/base/*",
     "stands below the seam; its few atomics are private to one file each"),
    ("sync-tags", "src/base/*",
     "stands below the seam; its few atomics are private to one file each"),
    ("raw-atomics", "include/muster/sync/atomic.hpp", "is the seam: it wraps std::atomic"),
    ("raw-atomics", "include/muster/sync/fence.hpp", "is the seam: it wraps the fences"),
    ("raw-atomics", "include/muster/base/log.hpp", "stands below the seam and cannot include it"),
    ("raw-atomics", "src/base/log.cpp", "stands below the seam and cannot include it"),
    ("raw-atomics", "src/base/quick_clock.cpp", "stands below the seam and cannot include it"),
    ("words", "tools/tidy_rules/words.py", "spells the words that it looks for"),
)

# Folders that no run looks into. Naming one of their files on the command line still checks it.
SKIPPED = {
    "build": "is made, not written",
    "tests/tools/samples": "holds bad code on purpose; tests/tools/tidy_test.py checks it",
}

# Names that CMake or its users expect as they are.
IMPOSED_NAMES = ("CMakeLists.txt", "Find*.cmake", "*Config.cmake", "toolchain-*.cmake")
