import { directiveIssued } from '@agentlens/contracts';
import { quantile } from '../../harness/statistics.ts';
import { monotonicMs } from '../../harness/time.ts';
import { equal } from '../check.ts';
import type { Fault, Lab } from '../fault.ts';
import type { Site } from '../site.ts';

const AGENTS = 40;
const WARM_UP = 5;
const P99_MS = 100;
const DEADLINE_MS = 5_000;
/** Agents are named `<label>-<n>`, which the trigger watch uses. */
const LABEL = 'runaway';

/** When each effect was first observed. */
interface Pause {
  readonly sentAt: number;
  /** The directive, as received by a subscriber on NATS. */
  readonly directiveAt: number;
  /** The response to the agent's first rejected decision. */
  readonly refusedAt: number;
  /** Decisions that still allowed the agent after its trigger. */
  readonly asked: number;
}

const pause: Fault = {
  id: 'F-28',
  title: "from the event that breaks a rule until the agent's next call is blocked",
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
    const directiveAt = new Map<string, number>();
    site.streams.connection.subscribe(directiveIssued.pattern(), {
      callback: (_error, message) => {
        const { agentId } = message.json<{ readonly agentId: string }>();
        if (!directiveAt.has(agentId)) directiveAt.set(agentId, monotonicMs());
      },
    });
    await site.streams.connection.flush();
    const pauses: Pause[] = [];
    for (let serial = 0; serial < WARM_UP + AGENTS; serial++) {
      const one = await runAway(lab, site, serial, directiveAt);
      if (serial >= WARM_UP) pauses.push(one);
    }
    report(lab, site, pauses);
  },
};

/** An agent that breaks its rule and keeps requesting decisions, one after the other, until it is blocked. */
async function runAway(lab: Lab, site: Site, serial: number, directiveAt: ReadonlyMap<string, number>): Promise<Pause> {
  const agentId = `${LABEL}-${serial}`;
  const question = { phase: 'tool.before', agentId, tool: { name: 'search' }, args: {} };
  const ask = async () => {
    const answer = await site.post(site.stack.ingestUrl, `/v1/runs/${agentId}/evaluate`, question);
    if (answer.status !== 200) throw new Error(`${agentId} was answered ${answer.status}: ${answer.text}`);
    return (JSON.parse(answer.text) as { readonly verdict: string }).verdict;
  };
  if ((await ask()) !== 'ALLOW') throw new Error(`${agentId} is blocked before it did anything`);
  const data = { runaway: serial + 1 };
  const event = { sessionId: agentId, agentId, eventType: 'custom', payload: { type: 'x', data } };
  const sentAt = monotonicMs();
  await site.post(site.stack.ingestUrl, '/api/events', { events: [event] });
  for (let asked = 0; monotonicMs() - sentAt < DEADLINE_MS; asked++) {
    const verdict = await ask();
    if (verdict === 'ALLOW') continue;
    const refusedAt = monotonicMs();
    while (!directiveAt.has(agentId) && monotonicMs() - sentAt < DEADLINE_MS) await lab.sleep(1);
    return { sentAt, refusedAt, asked, directiveAt: directiveAt.get(agentId) ?? Number.NaN };
  }
  throw new Error(`${agentId} was not blocked within ${DEADLINE_MS} ms`);
}

function report(lab: Lab, site: Site, pauses: readonly Pause[]): void {
  const triggers = pauses.flatMap(({ sentAt, refusedAt }, n) =>
    site.triggers.latencies(LABEL, { [WARM_UP + n]: sentAt }).map((latency) => refusedAt - sentAt - latency),
  );
  const directives = pauses.map(({ sentAt, directiveAt }) => directiveAt - sentAt);
  const refused = pauses.map(({ sentAt, refusedAt }) => refusedAt - sentAt);
  for (const [name, times] of Object.entries({
    'from event to directive': directives,
    'from event to block': refused,
    'from trigger to block': triggers,
  })) {
    lab.measure(`p50 ${name}`, quantile(times, 0.5), 'ms');
    lab.measure(`p99 ${name}`, quantile(times, 0.99), 'ms');
  }
  const allowed = pauses.reduce((sum, { asked }) => sum + asked, 0);
  lab.measure('calls still allowed', allowed / pauses.length, 'an agent');
  lab.within('p99 from event to directive', P99_MS, quantile(directives, 0.99));
  lab.within('p99 from trigger to block', P99_MS, quantile(triggers, 0.99));
  lab.check(equal('agents refused', AGENTS, pauses.length), equal('triggers seen', AGENTS, triggers.length));
}

export const PAUSE = [pause];
