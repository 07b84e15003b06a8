// poolifier_thread_worker.mjs: the empty task.
import { ThreadWorker } from 'poolifier';

export default new ThreadWorker(() => undefined);
