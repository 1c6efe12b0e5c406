// 10,000 idle sessions in one process: heap of each, total memory, CPU time to start and end them.
import { AgentRuntime, AgentSession, Message } from '../src/index.ts';
import { cpuMicrosSince, table } from './measure.mjs';

const SESSIONS = 10_000;
const runtime = new AgentRuntime();
globalThis.gc?.();
const before = process.memoryUsage().heapUsed;
const started = process.cpuUsage();
for (let index = 0; index < SESSIONS; index++) {
  const session = new AgentSession('idle');
  for (let message = 0; message < 6; message++) session.addMessage(Message.user(`message ${message}`));
  runtime.spawn(session, async (internals) => void (await internals.receive()));
}
await new Promise((resolve) => setImmediate(resolve));
const begun = cpuMicrosSince(started) / 1_000;
globalThis.gc?.();
const { heapUsed, rss } = process.memoryUsage();
const ending = process.cpuUsage();
await runtime.shutdownAll();
table({
  'kB of heap per session': (heapUsed - before) / SESSIONS / 1_000,
  'MB of memory in all': rss / 1e6,
  'ms to begin them': begun,
  'ms to end them': cpuMicrosSince(ending) / 1_000,
});
