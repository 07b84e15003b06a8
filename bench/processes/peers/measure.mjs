// measure.mjs: what is asked of every pool of Node, and the line of JSON that answers.
//
//     node PEER.mjs empty COUNT 0                 COUNT tasks that do nothing, 1000 of them at once
//     node PEER.mjs round-trip COUNT SILENCE_US   one after the other, each after a silence
//
// The pool is there and warm before the time runs: its code was called for so long that it is
// compiled.
import { setTimeout as sleep } from 'node:timers/promises';

export const WORKERS = 2;

const OUTSTANDING = 1000;
const WARM_UP_MS = 500;

// A thousand, then the next thousand: faster, for these pools, than the next one for each that is
// done.
async function flood(run, count) {
  for (let begun = 0; begun < count; begun += OUTSTANDING) {
    const wave = Math.min(OUTSTANDING, count - begun);
    await Promise.all(Array.from({ length: wave }, run));
  }
  return [];
}

async function make_trips(run, count, silence_us) {
  const times_us = [];
  for (let i = 0; i < count; i += 1) {
    if (silence_us > 0) await sleep(silence_us / 1000);
    const start = performance.now();
    await run();
    times_us.push((performance.now() - start) * 1000);
  }
  return times_us;
}

function percentile(sorted, share) {
  if (sorted.length === 0) return 0;
  return sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1];
}

// `run` sends one task and gives a promise of its result. Ends the process.
export async function measure(run) {
  const work = { empty: flood, 'round-trip': make_trips }[process.argv[2]];
  const [count, silence_us] = process.argv.slice(3).map(Number);
  const warm_up_end = performance.now() + WARM_UP_MS;
  while (performance.now() < warm_up_end) await work(run, OUTSTANDING, 0);
  const start = performance.now();
  const times_us = await work(run, count, silence_us);
  const seconds = (performance.now() - start) / 1000;

  times_us.sort((left, right) => left - right);
  const answer = {
    items: count,
    seconds,
    p50_us: percentile(times_us, 0.5),
    p99_us: percentile(times_us, 0.99),
  };
  console.log(JSON.stringify(answer));
  process.exit();  // its workers go with it; not every pool always manages to end by itself
}
