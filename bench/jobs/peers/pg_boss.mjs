// pg_boss.mjs: workers that take batches, and take the next one at once instead of every half
// second. WHERE is the URL of a database.
import pg from 'pg';
import PgBoss from 'pg-boss';

import { BATCH, measure } from './measure.mjs';

const QUEUE = 'mails';
const WORKERS = 2;
const WAITING = `SELECT EXISTS
  (SELECT FROM pgboss.job WHERE name = '${QUEUE}' AND state < 'completed') AS is_left`;

await measure(async (where) => {
  const boss = new PgBoss({ connectionString: where, supervise: false, schedule: false });
  boss.on('error', (error) => {
    throw error;
  });
  await boss.start();
  await boss.createQueue(QUEUE);
  const client = new pg.Client({ connectionString: where });
  await client.connect();
  return {
    enqueue: (mails) => boss.insert(mails.map((data) => ({ name: QUEUE, data }))),
    work: async (ran) => {
      await client.query('ANALYZE');  // as the server does by itself, in time
      for (let i = 0; i < WORKERS; i += 1) {
        const options = { batchSize: BATCH, pollingIntervalSeconds: 0.5, priority: false };
        const worker = await boss.work(QUEUE, options, async (jobs) => {
          boss.notifyWorker(worker);
          ran(jobs.length);
        });
      }
    },
    until_settled: async () => {
      for (;;) {
        const { rows } = await client.query(WAITING);
        if (!rows[0].is_left) return;
      }
    },
  };
});
