// poolifier_processes.mjs: a fixed pool of processes, by Node's cluster module.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { FixedClusterPool, PoolEvents } from 'poolifier';

import { WORKERS, measure } from './measure.mjs';

const worker = fileURLToPath(new URL('./poolifier_process_worker.cjs', import.meta.url));
const pool = new FixedClusterPool(WORKERS, worker, { startWorkers: false });
pool.start();
await once(pool.emitter, PoolEvents.ready);
await measure(() => pool.execute());
