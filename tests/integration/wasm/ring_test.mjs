// ring_test.mjs MODULE NATIVE: the ring as a WebAssembly module keeps its promises among threads of
// Node, and its memory is that of the native ring.
//
// MODULE is ring.wasm (ring_module.cpp), NATIVE the program ring_native.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { setImmediate as others } from "node:timers/promises";
import { Worker } from "node:worker_threads";

import { fill, holds, Ledger, sizeOf } from "./ring_ledger.mjs";
import {
  attached, awaited, bytesFor, format, handOver, makeMemory, makeRing, Participant, submitted, take,
} from "./ring_memory.mjs";

const [modulePath, native] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(modulePath));

// --- threads ------------------------------------------------------------------------------------

const mostMilliseconds = 30_000;
let deadline = 0;
beforeEach(() => (deadline = Date.now() + mostMilliseconds));

// Lets this thread hear what the others have to say; for loops that wait.
async function nextTurn() {
  assert(Date.now() < deadline, "somebody waits for what does not come");
  await others();
}

const threads = new Set();
afterEach(() => Promise.all([...threads].map(({ worker }) => worker.terminate())));

// A thread with its index. What goes wrong in it is thrown by check().
class Thread {
  constructor(shared, index, role, ledger) {
    this.index = index;
    this.role = role;
    this.messages = [];
    this.worker = new Worker(new URL("./ring_thread.mjs", import.meta.url), {
      workerData: { shared, index, role, ledger },
    });
    this.worker.on("message", (message) => this.messages.push(message));
    this.worker.on("error", (error) => (this.error = error));
    this.ended = new Promise((done) => this.worker.on("exit", done)).then(() => {
      this.over = true;
      threads.delete(this);
    });
    threads.add(this);
  }

  check() {
    if (this.error) throw this.error;
  }

  async says(message) {
    while (!this.messages.includes(message)) {
      this.check();
      assert(!this.over, `participant ${this.index} has ended without saying "${message}"`);
      await nextTurn();
    }
  }

  // When this returns the thread does not exist any more, so that it may be swept.
  async kill() {
    await this.worker.terminate();
    this.check();
  }
}

// Every slot and every extent can be had, and none twice.
function assertAllThere(self, { slots, extents }) {
  assert.equal(self.damage(), 0n);
  assert.equal(self.free_slots(), slots);
  const tags = [];
  for (let tag = self.allocate(); tag !== 0; tag = self.allocate()) tags.push(tag);
  assert.equal(tags.length, extents);
  assert.equal(new Set(tags.map((tag) => self.extent_memory(tag))).size, extents);
  for (const tag of tags) assert.equal(self.free_extent(tag), handOver.done);
  let tasks = 0;
  while (self.submit(BigInt(tasks), 0, 0) === submitted.submitted) ++tasks;
  assert.equal(tasks, slots);
  for (let id = 0n; id < slots; ++id) {
    assert.equal(self.claim(), take.taken);
    assert.equal(self.taken_id(), id);
  }
  assert.equal(self.claim(), take.empty);
}

function runAll(self) {
  while (self.claim() === take.taken) assert.equal(self.complete(0, 0, 0), handOver.done);
  while (self.collect() === take.taken) assert.equal(self.release(), handOver.done);
}

// --- one ledger ---------------------------------------------------------------------------------

// Threads that submit and run tasks; this thread settles them. It ends those that a deadly task has
// brought to a halt, and `kills` times, at equal distances, another one at whatever it does.
class Storm {
  constructor({ geometry, tasks, deadly, kills }) {
    this.geometry = geometry;
    this.killsLeft = kills;
    this.untilKill = this.betweenKills = Math.floor(tasks / (kills + 1));
    this.shared = makeRing(module, geometry);
    this.self = new Participant(this.shared, 0);
    this.buffers = Ledger.create({ tasks, deadly, participants: geometry.participants });
    this.ledger = new Ledger(this.buffers);
    this.settled = new Uint8Array(tasks);
    this.count = this.ended = this.found = this.owed = 0;
    this.threads = ["run", "produce", "run", "produce", "run"].map((role, i) =>
      this.thread(i + 1, role));
  }

  thread(index, role) {
    return new Thread(this.shared, index, role, this.buffers);
  }

  // Settles what is done, or as much of it as there is until the next kill.
  settle() {
    const { self, ledger } = this;
    while (this.untilKill > 0 && self.collect() === take.taken) {
      const id = Number(self.taken_id());
      const attempts = self.taken_attempt();
      assert.equal(++this.settled[id], 1, `task ${id} came back twice`);
      assert.equal(self.taken_status(), id);
      assert(holds(self.unpack(self.taken_payload()), id), `payload of ${id}`);
      assert(holds(self.unpack(self.taken_result()), id + 1), `result of ${id}`);
      assert(ledger.runsOf(id) >= 1 && ledger.runsOf(id) <= attempts, `runs of ${id}`);
      assert(attempts > 1 || !ledger.isDeadly(id), `task ${id} has ended nobody`);
      assert.equal(self.release(), handOver.done);
      ++this.count;
      --this.untilKill;
    }
  }

  // Ends it, brings back what it had, and puts another in its place.
  async kill(place) {
    const { index, role } = this.threads[place];
    await this.threads[place].kill();
    this.ledger.setStuck(index, 0);
    this.found += this.self.sweep(index);
    this.owed += this.self.swept_owed();
    this.threads[place] = this.thread(index, role);
    ++this.ended;
  }

  async turn() {
    for (const thread of this.threads) thread.check();
    this.settle();
    if (this.untilKill === 0) {
      this.untilKill = this.killsLeft === 0 ? Infinity : this.betweenKills;
      if (this.killsLeft > 0) await this.kill(--this.killsLeft % this.threads.length);
    }
    for (const [place, { index }] of this.threads.entries()) {
      if (this.ledger.isStuck(index)) await this.kill(place);
    }
    this.self.sleep(awaited.results, 2_000_000n);
    await nextTurn();
  }

  // A producer that was ended while it submitted has told nobody whether the task was accepted.
  // When all that were have come back, the others are submitted once more.
  submitWhatWasNotAccepted() {
    const { self, ledger, settled } = this;
    const missing = [...settled.keys()].filter((id) => settled[id] === 0);
    for (const id of missing) {
      assert(!ledger.accepted(id), `task ${id} was accepted and is lost`);
      const { long, bytes } = sizeOf(id);
      const tag = long ? self.allocate() : 0;
      fill(self.bytes(long ? self.extent_memory(tag) : self.task_payload(), bytes), id);
      assert.equal(self.submit(BigInt(id), bytes, tag), submitted.submitted);
    }
    return missing.length;
  }

  producing() {
    return this.threads.some(({ role, over }) => role === "produce" && !over);
  }

  async run() {
    while (this.producing() || this.self.free_slots() < this.geometry.slots) await this.turn();
    this.again = this.submitWhatWasNotAccepted();
    while (this.count < this.ledger.tasks) await this.turn();
    this.ledger.stop();
    while (this.threads.some(({ over }) => !over)) {
      this.self.wake_all();
      await nextTurn();
    }
    for (const thread of this.threads) thread.check();
  }
}

const geometry = { slots: 128, participants: 8, extents: 256, extentBytes: 256 };

test("each of 100 000 tasks is settled exactly once", async () => {
  const storm = new Storm({ geometry, tasks: 100_000, deadly: 0, kills: 0 });
  await storm.run();
  assert.equal(storm.again, 0);
  assert(storm.settled.every((times) => times === 1));
  assert(storm.ledger.runs.every((runs) => runs === 1));
  assertAllThere(storm.self, geometry);
});

test("so it is when threads are terminated, running a task or anywhere", async (context) => {
  const storm = new Storm({ geometry, tasks: 100_000, deadly: 5_000, kills: 20 });
  await storm.run();
  assert(storm.settled.every((times) => times === 1));
  assert(storm.found >= 20 && storm.ended >= 20);
  assertAllThere(storm.self, geometry);
  context.diagnostic(`${storm.ended} terminated: ${storm.found} tasks brought back, ` +
    `${storm.owed} published for them, ${storm.again} had not been accepted`);
});

// --- deaths -------------------------------------------------------------------------------------

test("the task of a terminated thread comes back with its payload", async () => {
  const geometry = { slots: 4, participants: 3, extents: 4, extentBytes: 256 };
  const shared = makeRing(module, geometry);
  const self = new Participant(shared, 0);
  const id = 8;
  const tag = self.allocate();
  fill(self.bytes(self.extent_memory(tag), sizeOf(id).bytes), id);
  assert.equal(self.submit(BigInt(id), sizeOf(id).bytes, tag), submitted.submitted);
  const holder = new Thread(shared, 1, "hold");
  await holder.says("holds");
  await holder.kill();
  assert.equal(self.claim(), take.empty);

  assert.equal(self.sweep(1), 1);
  assert.equal(self.swept_extents(), 1);

  assert.equal(self.claim(), take.taken);
  assert.equal(self.taken_id(), BigInt(id));
  assert.equal(self.taken_attempt(), 2);
  assert(holds(self.unpack(self.taken_payload()), id));
  assert.equal(self.complete(0, 0, 0), handOver.done);
  assert.equal(self.collect(), take.taken);
  assert.equal(self.release(), handOver.done);
  assertAllThere(self, geometry);
});

test("a thread terminated in its sleep takes no wake from others", async () => {
  const shared = makeRing(module, { slots: 4, participants: 3, extents: 0, extentBytes: 0 });
  const self = new Participant(shared, 0);
  const asleep = async (count) => {
    while (self.asleep(awaited.work) !== count) {
      for (const thread of threads) thread.check();
      await nextTurn();
    }
  };
  const dead = new Thread(shared, 1, "sleepForWork");
  await asleep(1);
  const other = new Thread(shared, 2, "sleepForWork");
  await asleep(2);
  await dead.kill();
  assert.equal(self.sweep(1), 0);
  await other.says("woken");  // by the sweep: whoever sleeps looks again
  await other.ended;
  assert.equal(self.sweep(2), 0);

  const heir = new Thread(shared, 2, "sleepForWork");
  await asleep(1);
  assert.equal(self.submit(1n, 0, 0), submitted.submitted);
  await heir.says("woken");
  await heir.ended;
  heir.check();
});

test("nothing is lost with threads that are terminated inside the ring", async (context) => {
  const geometry = { slots: 8, participants: 3, extents: 16, extentBytes: 64 };
  const shared = makeRing(module, geometry);
  const self = new Participant(shared, 0);
  let found = 0;
  let owed = 0;
  const churners = [1, 2].map((index) => new Thread(shared, index, "churn"));
  for (let i = 0; i < 40; ++i) {
    const churner = churners.shift();
    await churner.says("churns");
    await churner.kill();
    found += self.sweep(churner.index);
    owed += self.swept_owed();
    churners.push(new Thread(shared, churner.index, "churn"));
  }
  for (const churner of churners) {
    await churner.kill();
    self.sweep(churner.index);
  }
  runAll(self);
  assertAllThere(self, geometry);
  context.diagnostic(`40 terminated: ${found} slots brought back, ${owed} published for them`);
});

// --- layout -------------------------------------------------------------------------------------

const story = { slots: 20, participants: 70, extents: 9, extentBytes: 192 };
const supervisorIndex = 0;
const workerIndex = 2;
const deadIndex = 69;
const firstId = 1n << 40n;

// What anybody must find in the ring of the story (ring_story.hpp), on either side.
const told = [
  "swept tasks 1 extents 1",
  "result 1 attempt 1 bytes 150 of 99",
  "task 3 attempt 1 bytes 150 of 3",
  "task 4 attempt 1 bytes 20 of 4",
  "task 5 attempt 1 cancelled bytes 150 of 5",
  "task 6 attempt 1 bytes 20 of 6",
  "task 7 attempt 1 bytes 150 of 7",
  "task 2 attempt 2 bytes 20 of 2",
  "damage 0",
];

function inFolder(body) {
  const folder = mkdtempSync(join(tmpdir(), "muster_wasm."));
  try {
    return body(join(folder, "ring"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function ringBytes(shared) {
  return Buffer.from(new Uint8Array(shared.memory.buffer, shared.ring, shared.ringBytes));
}

function nativeRing() {
  return inFolder((path) => {
    execFileSync(native, ["write", path]);
    return readFileSync(path);
  });
}

function moduleRing() {
  const shared = makeRing(module, story);
  const self = new Participant(shared, supervisorIndex);
  assert.equal(self.play_story(), 1);
  return ringBytes(shared);
}

// Memory that holds these bytes.
function loaded(bytes) {
  const shared = makeMemory(module, 2, bytes.length);
  new Uint8Array(shared.memory.buffer, shared.ring, bytes.length).set(bytes);
  return shared;
}

function describeTaken(self, what, packed) {
  const bytes = self.unpack(packed);
  assert(bytes.every((byte) => byte === bytes[0]));
  const flag = self.taken_cancelled() ? " cancelled" : "";
  const id = self.taken_id() - firstId;
  const attempt = self.taken_attempt();
  return `${what} ${id} attempt ${attempt}${flag} bytes ${bytes.length} of ${bytes[0]}`;
}

// As ring_native read.
function tell(shared) {
  const supervisor = new Participant(shared, supervisorIndex, 0);
  assert.equal(supervisor.outcome, attached.attached);
  const tasks = supervisor.sweep(deadIndex);
  const lines = [`swept tasks ${tasks} extents ${supervisor.swept_extents()}`];
  while (supervisor.collect() === take.taken) {
    lines.push(describeTaken(supervisor, "result", supervisor.taken_result()));
  }
  const worker = new Participant(shared, workerIndex, 1);
  while (worker.claim() === take.taken) {
    lines.push(describeTaken(worker, "task", worker.taken_payload()));
  }
  return [...lines, `damage ${supervisor.damage()}`];
}

test("the module goes on with a ring that a native process has begun", () => {
  const bytes = nativeRing();
  assert.equal(bytes.readUInt32LE(0), 0x57504f4c);
  assert.equal(bytes.readUInt32LE(4), 2);
  assert.deepEqual(tell(loaded(bytes)), told);
});

test("a native process goes on with a ring that the module has begun", () => {
  const lines = inFolder((path) => {
    writeFileSync(path, moduleRing());
    return execFileSync(native, ["read", path], { encoding: "utf8" });
  });
  assert.deepEqual(lines.trimEnd().split("\n"), told);
});

test("the same steps leave the same bytes on both sides", () => {
  assert(nativeRing().equals(moduleRing()));
});

test("bytes that are no ring, or not all of one, are refused", () => {
  const outcome = (bytes) => new Participant(loaded(bytes), 0).outcome;
  const bytes = nativeRing();
  assert.equal(outcome(bytes), attached.attached);
  assert.equal(outcome(bytes.subarray(0, bytes.length - 1)), attached.tooSmall);
  assert.equal(outcome(Buffer.alloc(bytes.length)), attached.unformatted);
});

test("a ring beyond what 32 bits can address is refused, not wrapped round", () => {
  // 4 GiB of extents: 0 in 32 bits.
  const vast = { slots: 1, participants: 1, extents: 1 << 16, extentBytes: 1 << 16 };
  assert(bytesFor(module, vast) > 1n << 32n);
  assert.equal(format(makeMemory(module, 1, 1 << 20), vast), attached.tooSmall);
});

test("the module needs nothing but memory", () => {
  assert.deepEqual(WebAssembly.Module.imports(module), [
    { module: "env", name: "memory", kind: "memory" },
  ]);
});
