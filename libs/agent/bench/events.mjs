// Events to many readers of one session: CPU time of each event and of each delivery, µs.
import { AgentRuntime, AgentSession } from '../src/index.ts';
import { cpuMicrosSince, table } from './measure.mjs';

const EVENTS = 200_000;
const results = {};
for (const readers of [0, 1, 10, 100]) {
  const runtime = new AgentRuntime();
  const handle = runtime.spawn(new AgentSession('bench'), async (internals) => {
    await internals.receive();
    for (let count = 0; count < EVENTS; count++) {
      internals.send({ type: 'text-delta', text: 'x' });
      if (count % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  });
  let delivered = 0;
  const reading = Array.from({ length: readers }, async () => {
    for await (const event of handle.subscribe({ from: 'start' })) if (event.type !== 'lagged') delivered += 1;
  });
  const started = process.cpuUsage();
  handle.sendInput('go');
  await handle.finished;
  await Promise.all(reading);
  const us = cpuMicrosSince(started);
  results[`${readers} readers`] = {
    'µs per event': Number((us / EVENTS).toFixed(3)),
    'µs per delivery': delivered === 0 ? 0 : Number((us / delivered).toFixed(3)),
    'deliveries per CPU second': Math.round((delivered / us) * 1e6),
  };
}
table(results);
