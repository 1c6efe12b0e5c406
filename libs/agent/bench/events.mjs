// Events to many readers of one session: µs per append and per delivery.
//
//   node --conditions=@agentlens/source libs/agent/bench/events.mjs
import { AgentRuntime, AgentSession } from '@agentlens/agent';
import { table } from './measure.mjs';

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
  const started = performance.now();
  handle.sendInput('go');
  await handle.finished;
  await Promise.all(reading);
  const us = (performance.now() - started) * 1_000;
  results[`${readers} readers`] = {
    'µs per event': Number((us / EVENTS).toFixed(3)),
    'deliveries per s': Math.round((delivered / us) * 1e6),
  };
}
table(results);
