// bullmq.mjs: a worker that has several jobs at hand. WHERE is the port of a Redis; one more
// argument says how many jobs.
import { Queue, Worker } from 'bullmq';

import { measure } from './measure.mjs';

const NAME = 'mails';

await measure(async (where, concurrency) => {
  const connection = { host: '127.0.0.1', port: Number(where), maxRetriesPerRequest: null };
  const queue = new Queue(NAME, { connection });
  await queue.waitUntilReady();
  return {
    enqueue: (mails) => queue.addBulk(mails.map((data) => ({ name: 'mail', data }))),
    work: async (ran) => {
      const options = {
        connection,
        concurrency: Number(concurrency),
        removeOnComplete: { count: 0 },
      };
      const worker = new Worker(NAME, async () => {}, options);
      worker.on('completed', () => ran(1));  // after Redis has said so
    },
    until_settled: async () => {},
  };
});
