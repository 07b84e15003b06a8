// piscina_worker.mjs: the empty task.
export default () => undefined;
