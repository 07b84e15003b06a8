// measure.mjs: what is asked of every queue of Node, and the line of JSON that answers.
//
//     node PEER.mjs enqueue COUNT WHERE   COUNT jobs in batches of 1000, one after the other
//     node PEER.mjs execute COUNT WHERE   COUNT jobs that do nothing, all of them waiting
//
// WHERE is a database or a socket that nobody else uses. Some jobs come first that are not counted:
// they are there so that the code is compiled when the time begins.
export const BATCH = 1000;

const WARM_UP_JOBS = 5 * BATCH;
const PATIENCE_MS = 300_000;

// About 100 bytes of JSON, as all contenders have it.
export function mail_of(number) {
  return {
    number,
    to: `user-${number}@example.org`,
    subject: 'Welcome',
    text: 'Thank you for joining us.',
  };
}

// The numbers from `first` on, in batches.
export function* batches(first, count) {
  for (let begun = 0; begun < count; begun += BATCH) {
    const size = Math.min(BATCH, count - begun);
    yield Array.from({ length: size }, (_, index) => first + begun + index);
  }
}

async function enqueue_all(peer, first, count) {
  for (const batch of batches(first, count)) await peer.enqueue(batch.map(mail_of));
}

// Says when so many jobs have been run.
class Counter {
  constructor(target) {
    this.left = target;
    this.done = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  count(jobs) {
    const was_open = this.left > 0;
    this.left -= jobs;
    if (was_open && this.left <= 0) this.resolve(performance.now());
  }
}

async function enqueue(peer, count) {
  await enqueue_all(peer, 0, WARM_UP_JOBS);
  const start = performance.now();
  await enqueue_all(peer, WARM_UP_JOBS, count);
  const end = performance.now();
  return { start, end };
}

async function execute(peer, count) {
  await enqueue_all(peer, 0, WARM_UP_JOBS + count);
  const warm_up = new Counter(WARM_UP_JOBS);
  const all = new Counter(WARM_UP_JOBS + count);
  await peer.work((jobs) => {
    warm_up.count(jobs);
    all.count(jobs);
  });
  const start = await warm_up.done;
  await all.done;
  await peer.until_settled();
  const end = performance.now();
  if (all.left !== 0) throw new Error(`${-all.left} jobs were run more than once`);
  return { start, end };
}

// A peer has `enqueue(mails)`; `work(ran)`, which begins to run what waits and calls `ran` with the
// number of jobs that were; and `until_settled()`, which waits until the server knows of all of
// them. Ends the process, in any case after some minutes.
export async function measure(make_peer) {
  const [what, count, ...where] = process.argv.slice(2);
  setTimeout(() => process.exit(1), PATIENCE_MS);
  const peer = await make_peer(...where);
  const { start, end } = await { enqueue, execute }[what](peer, Number(count));
  const items = Number(count);
  const all_items = items + WARM_UP_JOBS;
  console.log(JSON.stringify({ items, seconds: (end - start) / 1000, all_items }));
  process.exit();
}
