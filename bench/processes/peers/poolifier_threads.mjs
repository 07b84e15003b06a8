// poolifier_threads.mjs: a fixed pool of threads, which its guidelines advise for tasks that compute.
// Without a queue of tasks for each worker, as by default; with one it is slower here.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { FixedThreadPool, PoolEvents } from 'poolifier';

import { WORKERS, measure } from './measure.mjs';

const worker = fileURLToPath(new URL('./poolifier_thread_worker.mjs', import.meta.url));
const pool = new FixedThreadPool(WORKERS, worker, { startWorkers: false });
pool.start();
await once(pool.emitter, PoolEvents.ready);
await measure(() => pool.execute());
