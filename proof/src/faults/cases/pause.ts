import { directiveIssued } from '@agentlens/contracts';
import { monotonicMs } from '../../harness/monotonic-ms.ts';
import { atMost, equal } from '../check.ts';
import type { Fault } from '../fault.ts';

const AGENTS = 40;
const P99_MS = 100;

const pause: Fault = {
  id: 'F-28',
  title: 'from the event that breaks a rule until the agent is told to pause',
  async run(lab) {
    const site = await lab.freshSite();
    await site.addRule({
      name: 'fault: pause',
      conditionType: 'custom_metric',
      conditionConfig: { metricKeyPath: 'data.runaway', operator: 'gt', value: 0, aggregate: 'last' },
      actionType: 'pause_agent',
      actionConfig: { message: 'Stopped' },
      cooldownMinutes: 0,
    });
    await site.rulesHeld(4);
    const pausedAt = new Map<string, number>();
    site.streams.connection.subscribe(directiveIssued.pattern(), {
      callback: (_error, message) => {
        const { agentId } = message.json<{ readonly agentId: string }>();
        if (!pausedAt.has(agentId)) pausedAt.set(agentId, monotonicMs());
      },
    });
    await site.streams.connection.flush();
    const latencies: number[] = [];
    for (let i = -5; i < AGENTS; i++) {
      const agentId = `runaway-${i}`;
      const sentAt = monotonicMs();
      const event = { sessionId: agentId, agentId, eventType: 'custom', payload: { type: 'x', data: { runaway: 1 } } };
      await site.post(site.stack.ingestUrl, '/api/events', { events: [event] });
      for (let waited = 0; !pausedAt.has(agentId) && waited < 5_000; waited++) await lab.sleep(1);
      const at = pausedAt.get(agentId);
      if (at === undefined) throw new Error(`${agentId} was not paused`);
      // The first ones warm the path up.
      if (i >= 0) latencies.push(at - sentAt);
    }
    latencies.sort((a, b) => a - b);
    const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN;
    lab.measure('p50 from event to directive', latencies[Math.floor(latencies.length / 2)] ?? Number.NaN, 'ms');
    lab.check(
      atMost('p99 from event to directive', P99_MS, p99, 'ms'),
      equal('agents paused', AGENTS, latencies.length),
    );
  },
};

export const PAUSE = [pause];
