// ring_ledger.mjs: what became of each task, in memory of its own beside the ring's.

const state = { begun: 1, accepted: 2 };

export class Ledger {
  // What is passed to threads, for so many tasks; one in `deadly` of them ends whoever runs it
  // first, none if that is 0.
  static create({ tasks, deadly, participants }) {
    const words = (count) => new SharedArrayBuffer(4 * count);
    return {
      tasks, deadly, control: words(2), states: words(tasks), runs: words(tasks),
      stuck: words(participants),
    };
  }

  constructor(buffers) {
    this.tasks = buffers.tasks;
    this.deadly = buffers.deadly;
    this.control = new Int32Array(buffers.control);
    this.states = new Int32Array(buffers.states);
    this.runs = new Int32Array(buffers.runs);
    this.stuck = new Int32Array(buffers.stuck);
  }

  // A task that is to be submitted; null if there is none left.
  next() {
    const id = Atomics.add(this.control, 0, 1);
    return id < this.tasks ? id : null;
  }

  begin(id) {
    Atomics.store(this.states, id, state.begun);
  }
  accept(id) {
    Atomics.store(this.states, id, state.accepted);
  }
  accepted(id) {
    return Atomics.load(this.states, id) === state.accepted;
  }

  ran(id) {
    Atomics.add(this.runs, id, 1);
  }
  runsOf(id) {
    return Atomics.load(this.runs, id);
  }

  isDeadly(id) {
    return this.deadly !== 0 && id % this.deadly === 0;
  }
  setStuck(index, value) {
    Atomics.store(this.stuck, index, value);
  }
  isStuck(index) {
    return Atomics.load(this.stuck, index) !== 0;
  }

  stop() {
    Atomics.store(this.control, 1, 1);
  }
  stopping() {
    return Atomics.load(this.control, 1) !== 0;
  }
}

// Every eighth payload goes into an extent.
export function sizeOf(id) {
  if (id % 8 === 0) return { long: true, bytes: 100 + (id % 100) };
  return { long: false, bytes: 4 + (id % 20) };
}

export function fill(bytes, id) {
  for (let i = 0; i < bytes.length; ++i) bytes[i] = id * 7 + i;
}

export function holds(bytes, id) {
  if (bytes === null || bytes.length !== sizeOf(id).bytes) return false;
  return bytes.every((byte, i) => byte === ((id * 7 + i) & 0xff));
}
