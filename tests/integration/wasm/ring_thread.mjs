// ring_thread.mjs: what a thread of ring_test.mjs does, by its role; most of them are terminated in
// the middle of it.
import { parentPort, workerData } from "node:worker_threads";

import { awaited, forever, handOver, Participant, submitted, take } from "./ring_memory.mjs";
import { fill, holds, Ledger, sizeOf } from "./ring_ledger.mjs";

const { shared, index, role, ledger: buffers } = workerData;
const self = new Participant(shared, index);
const ledger = buffers && new Ledger(buffers);

function expect(condition, what) {
  if (!condition) throw new Error(`participant ${index}: ${what}`);
}

function extent() {
  for (;;) {
    const tag = self.allocate();
    if (tag !== 0) return tag;
    self.sleep(awaited.room, 1_000_000n);
  }
}

// Puts the bytes where they belong; gives the extent, or 0.
function place(inline, id) {
  const size = sizeOf(id);
  const tag = size.long ? extent() : 0;
  fill(self.bytes(size.long ? self.extent_memory(tag) : inline, size.bytes), id);
  return tag;
}

function submit(id) {
  const tag = place(self.task_payload(), id);
  for (;;) {
    const outcome = self.submit(BigInt(id), sizeOf(id).bytes, tag);
    if (outcome === submitted.submitted) return;
    expect(outcome === submitted.noRoom || outcome === submitted.contended, `submit: ${outcome}`);
    if (outcome === submitted.noRoom) self.sleep(awaited.room, 1_000_000n);
  }
}

function waitForTheEnd() {
  ledger.setStuck(index, 1);
  for (;;);
}

const roles = {
  // Submits tasks that nobody has submitted yet, until there are none.
  produce() {
    for (let id = ledger.next(); id !== null; id = ledger.next()) {
      ledger.begin(id);
      submit(id);
      ledger.accept(id);
    }
  },

  // Runs tasks until told to stop.
  run() {
    while (!ledger.stopping()) {
      if (self.claim() !== take.taken) {
        self.sleep(awaited.work, forever);
        continue;
      }
      const id = Number(self.taken_id());
      expect(holds(self.unpack(self.taken_payload()), id), `payload of ${id}`);
      ledger.ran(id);
      const tag = place(self.result_payload(), id + 1);
      if (ledger.isDeadly(id) && self.taken_attempt() === 1) waitForTheEnd();
      const outcome = self.complete(id, sizeOf(id + 1).bytes, tag);
      expect(outcome === handOver.done, `complete: ${outcome}`);
    }
  },

  // Claims a task, takes an extent for its result, and never ends.
  hold() {
    expect(self.claim() === take.taken, "there was no task");
    expect(self.allocate() !== 0, "there was no extent");
    parentPort.postMessage("holds");
    for (;;);
  },

  sleepForWork() {
    self.sleep(awaited.work, forever);
    parentPort.postMessage("woken");
  },

  churn() {
    parentPort.postMessage("churns");
    self.churn();
  },
};

expect(self.occupy(), "the index is taken");
roles[role]();
