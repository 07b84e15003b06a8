// workerpool_worker.mjs: the empty task.
import workerpool from 'workerpool';

workerpool.worker({ empty: () => undefined });
