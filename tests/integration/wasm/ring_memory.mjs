// ring_memory.mjs: one shared memory, what stands where in it, and a thread's view of the ring.
//
//     the module's own | a block for each participant | the ring
//
// All instances share the memory, but each believes that the one stack of the module is its own. So
// every thread has a block: its Participant (ring_module.cpp) at the beginning, its stack from the
// end.

const pageBytes = 65_536;
const blockBytes = 65_536;
const modulePages = 4;  // what is its own: the stack that nobody uses, its constants
const lineBytes = 64;

// The numbers of the ring's enums.
export const take = { taken: 0, empty: 1, contended: 2 };
export const submitted = { submitted: 0, noRoom: 1, contended: 2 };
export const handOver = { done: 0, fenced: 1 };
export const attached = { attached: 0, misaligned: 1, tooSmall: 2, unformatted: 3 };
export const awaited = { work: 0, results: 1, room: 2 };
export const forever = -1n;

function up(bytes, multiple) {
  return Math.ceil(bytes / multiple) * multiple;
}

function sizes({ slots, participants, extents, extentBytes }) {
  return [slots, participants, extents, extentBytes];
}

function instantiate(module, memory) {
  return new WebAssembly.Instance(module, { env: { memory } }).exports;
}

// Memory for so many participants and a ring of so many bytes, to be passed to threads as it is.
// Formats nothing.
export function makeMemory(module, blocks, ringBytes) {
  const pages = Math.ceil((blocks * blockBytes + ringBytes) / pageBytes) + modulePages;
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  const firstBlock = up(instantiate(module, memory).__heap_base.value, lineBytes);
  return { module, memory, firstBlock, ring: firstBlock + blocks * blockBytes, ringBytes };
}

// Formats a ring at the end of such memory; says how that ended.
export function format({ module, memory, ring, ringBytes }, geometry) {
  return instantiate(module, memory).format(ring, ringBytes, ...sizes(geometry));
}

export function bytesFor(module, geometry) {
  return instantiate(module, makeMemory(module, 0, 0).memory).ring_bytes(...sizes(geometry));
}

// New memory that holds an empty ring, with a block for each of its participants.
export function makeRing(module, geometry) {
  const bytes = Number(bytesFor(module, geometry));
  const shared = makeMemory(module, geometry.participants, bytes);
  const outcome = format(shared, geometry);
  if (outcome !== attached.attached) throw new Error(`format says ${outcome}`);
  return shared;
}

// One participant, in the thread that has made it. The calls of ring_module.cpp are its methods.
export class Participant {
  constructor(shared, index, block = index) {
    const { module, memory, firstBlock, ring, ringBytes } = shared;
    const exports = instantiate(module, memory);
    const place = firstBlock + block * blockBytes;
    exports.__stack_pointer.value = place + blockBytes;
    this.index = index;
    this.memory = memory;
    this.outcome = exports.attach(place, ring, ringBytes, index);
    for (const [name, call] of Object.entries(exports)) {
      if (typeof call === "function" && !(name in this)) this[name] = call.bind(null, place);
    }
  }

  bytes(address, count) {
    return new Uint8Array(this.memory.buffer, address, count);
  }

  // What taken_payload() or taken_result() has packed; null if there is nothing to read.
  unpack(packed) {
    if (packed === 0n) return null;
    return this.bytes(Number(packed & 0xffff_ffffn), Number(packed >> 32n));
  }
}
