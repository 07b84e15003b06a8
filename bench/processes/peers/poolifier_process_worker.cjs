// poolifier_process_worker.cjs: the empty task. CommonJS, since a module is loaded so late that the
// pool's first message can be lost, and then it is never ready.
const { ClusterWorker } = require('poolifier');

module.exports = new ClusterWorker(() => undefined);
