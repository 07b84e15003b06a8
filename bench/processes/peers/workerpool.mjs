// workerpool.mjs: a dedicated worker script, on threads as by default in Node, or on processes.
//
//     node workerpool.mjs WHAT COUNT SILENCE_US thread|process
import { fileURLToPath } from 'node:url';

import workerpool from 'workerpool';

import { WORKERS, measure } from './measure.mjs';

const worker = fileURLToPath(new URL('./workerpool_worker.mjs', import.meta.url));
const pool = workerpool.pool(worker, {
  minWorkers: WORKERS,
  maxWorkers: WORKERS,
  workerType: process.argv[5],
});
await measure(() => pool.exec('empty', []));
