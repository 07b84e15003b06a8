// piscina.mjs: worker threads that stay, and sleep on shared memory between two tasks, as is its
// default.
import { Piscina } from 'piscina';

import { WORKERS, measure } from './measure.mjs';

const pool = new Piscina({
  filename: new URL('./piscina_worker.mjs', import.meta.url).href,
  minThreads: WORKERS,
  maxThreads: WORKERS,
});
await measure(() => pool.run());
