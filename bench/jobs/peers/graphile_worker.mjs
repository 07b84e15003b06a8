// graphile_worker.mjs: with a local queue, and completions in batches, as its own performance test
// has it. WHERE is the URL of a database.
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';

import { BATCH, measure } from './measure.mjs';

const CONCURRENCY = 24;
const silent = new Logger(() => () => {});

process.env.NO_LOG_SUCCESS = '1';

await measure(async (where) => {
  const pgPool = new pg.Pool({ connectionString: where, max: CONCURRENCY + 1 });
  pgPool.on('error', (error) => {
    throw error;
  });
  pgPool.on('connect', (client) => client.on('error', () => {}));  // it wants one there, too
  const utils = await makeWorkerUtils({ pgPool, logger: silent });
  await utils.migrate();
  const preset = {
    worker: {
      concurrentJobs: CONCURRENCY,
      localQueue: { size: BATCH, refetchDelay: { durationMs: 10 } },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  };
  return {
    enqueue: (mails) => utils.addJobs(mails.map((payload) => ({ identifier: 'mail', payload }))),
    work: async (ran) => {
      await pgPool.query('ANALYZE');  // as the server does by itself, in time
      await run({ pgPool, preset, logger: silent, taskList: { mail: () => ran(1) } });
    },
    // A job is gone when it is settled.
    until_settled: async () => {
      for (;;) {
        const { rows } = await pgPool.query(
          'SELECT EXISTS (SELECT FROM graphile_worker._private_jobs) AS is_left',
        );
        if (!rows[0].is_left) return;
      }
    },
  };
});
