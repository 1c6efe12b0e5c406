import { Pool } from 'undici';
import { until } from '../../harness/time.ts';
import { equal, holds } from '../check.ts';
import type { Fault, Lab } from '../fault.ts';
import { blockRule } from '../record.ts';
import type { Site } from '../site.ts';
import { underLoad } from './under-load.ts';

const CUT_MS = 5_000;
/** A gateway that hears nothing on its connection stops deciding after this time. */
const STALE_MS = 3_000;
/** Time for a change that a gateway has to receive before it decides again. */
const SETTLED_MS = 30_000;
const ASK_EVERY_MS = 5;
const HEADERS = { 'content-type': 'application/json' };

/** How a question was answered. `fail mode`: nothing could be evaluated. */
type Outcome = 'allowed' | 'rule' | 'order' | 'fail mode';

interface Answer {
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly outcome: Outcome;
  readonly byGateway: boolean;
}

/** From `beganAt` to `doneAt` both the old and the new outcome are right. */
interface Change {
  readonly beganAt: number;
  readonly doneAt: number;
  readonly outcome: Outcome;
}

/** An agent that keeps asking about one tool, and what the right answer was at any time. */
class Caller {
  readonly answers: Answer[] = [];
  readonly changes: Change[] = [];
  readonly agentId: string;
  readonly tool: string;
  readonly #ask: () => Promise<Omit<Answer, 'sentAt' | 'answeredAt'>>;
  #asking: Promise<void> | undefined;
  #isOver = false;

  constructor(agentId: string, tool: string, pool: Pool, key: string) {
    this.agentId = agentId;
    this.tool = tool;
    const body = JSON.stringify({ phase: 'tool.before', agentId, tool: { name: tool }, args: {}, deadlineMs: 500 });
    const headers = { ...HEADERS, authorization: `Bearer ${key}` };
    this.#ask = async () => {
      const answer = await pool.request({ method: 'POST', path: `/v1/runs/${agentId}/evaluate`, headers, body });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`${agentId} got ${answer.statusCode}: ${text}`);
      const byGateway = answer.headers['x-agentlens-decided-by'] === 'gateway';
      return { outcome: outcomeOf(JSON.parse(text) as Body), byGateway };
    };
  }

  start(): void {
    this.#asking = (async () => {
      while (!this.#isOver) {
        const sentAt = performance.now();
        this.answers.push({ sentAt, ...(await this.#ask()), answeredAt: performance.now() });
        await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
      }
    })();
    // Awaited at the end.
    this.#asking.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#asking;
  }

  /** Makes a change after which this outcome is right. */
  async changed(outcome: Outcome, make: () => Promise<unknown>): Promise<void> {
    const beganAt = performance.now();
    await make();
    this.changes.push({ beganAt, doneAt: performance.now(), outcome });
  }

  /** Waits until the gateway itself answers with this outcome. */
  async decided(outcome: Outcome): Promise<void> {
    const before = this.answers.length;
    const isThere = async () =>
      this.answers.slice(before).some((one) => one.byGateway && one.outcome === outcome) ? true : undefined;
    await until(`the gateway to decide "${outcome}" about ${this.agentId}`, isThere, SETTLED_MS);
  }

  /** The answers that were right at no time from the staleness bound before the question until the answer. */
  wrong(initial: Outcome): readonly Answer[] {
    return this.answers.filter(({ sentAt, answeredAt, outcome }) => {
      if (outcome === 'fail mode') return false;
      const sinceMs = sentAt - STALE_MS;
      const states = [{ beganAt: Number.NEGATIVE_INFINITY, outcome: initial }, ...this.changes];
      return !states.some((state, at) => {
        const endedAt = this.changes[at]?.doneAt ?? Number.POSITIVE_INFINITY;
        return state.outcome === outcome && state.beganAt <= answeredAt && endedAt >= sinceMs;
      });
    });
  }
}

interface Body {
  readonly verdict: string;
  readonly control: string;
  readonly cause: { readonly kind: string };
  readonly bypasses: readonly { readonly ruleId: string }[];
}

function outcomeOf({ verdict, control, cause, bypasses }: Body): Outcome {
  if (bypasses.some(({ ruleId }) => ruleId === '*')) return 'fail mode';
  if (verdict === 'ALLOW') return 'allowed';
  if (cause.kind === 'RULE_VIOLATION') return 'rule';
  if (cause.kind === 'LOCKDOWN' && control === 'TERMINATE') return 'order';
  throw new Error(`unexpected answer ${verdict} ${control} ${cause.kind}`);
}

/** A way to cut NATS. Returns a function that restores it. */
type Cut = (site: Site) => Promise<() => Promise<void>>;

/** Connections stay open and carry nothing, and new ones do neither. */
const silence =
  (service?: 'ingest'): Cut =>
  async (site) => {
    const links = site.proxies.of('nats', service);
    for (const link of links) link.mode('blackhole');
    return async () => {
      for (const link of links) link.mode('pass');
    };
  };

const CUTS: Readonly<Record<string, Cut>> = {
  'the link of the gateway is silent': silence('ingest'),
  'every link is silent': silence(),
  'the server is killed': async (site) => {
    await site.server('nats').kill('SIGKILL');
    return async () => {
      await site.server('nats').start();
    };
  },
};

const cutDecisions: Fault = {
  id: 'F-31',
  title: 'NATS is cut for 5 s below a gateway that decides, while rules and orders change',
  smoke: true,
  async run(lab) {
    const site = await lab.freshSite({ serviceEnv: { ingest: { AGENTLENS_DECISION_PATH: 'gateway' } } });
    // An answer of the fail mode must not look like an answer that a rule gave.
    await site.change('PATCH', '/api/settings', { decisionFailMode: 'block' });
    const cuts = Object.entries(CUTS).slice(0, lab.smoke ? 1 : undefined);
    for (const [name, cut] of cuts) await underACut(lab, site, name, cut);
  },
};

/** Two tools and two agents: a rule and a kill change during the cut, another rule and another kill after it. */
async function underACut(lab: Lab, site: Site, name: string, cut: Cut): Promise<void> {
  const pool = new Pool(site.stack.ingestUrl, { connections: 8, headersTimeout: 10_000 });
  const label = name.replaceAll(' ', '-');
  const caller = (who: string, tool = 'search') =>
    new Caller(`${label}-${who}`, `${tool}-${label}`, pool, site.stack.key);
  const [during, after] = [caller('during', 'pay'), caller('after', 'refund')];
  const [killedDuring, killedAfter] = [caller('killed-during'), caller('killed-after')];
  const callers = [during, after, killedDuring, killedAfter];
  const rule = ({ tool }: Caller) => site.addRule(blockRule(tool));
  const kill = ({ agentId }: Caller) => site.order(agentId, 'killed');
  let cutAt = 0;
  let restoredAt = 0;
  try {
    await underLoad(lab, site, {
      load: { eventsPerSecond: 500, seconds: 300 },
      faults: async (load) => {
        for (const one of callers) one.start();
        for (const one of callers) await one.decided('allowed');
        const restore = await cut(site);
        cutAt = performance.now();
        lab.note(`${name}, for ${CUT_MS / 1000} s`);
        const changes = Promise.all([
          during.changed('rule', () => rule(during)),
          killedDuring.changed('order', () => kill(killedDuring)),
        ]);
        await lab.sleep(CUT_MS);
        await restore();
        restoredAt = performance.now();
        await changes;
        await Promise.all([
          after.changed('rule', () => rule(after)),
          killedAfter.changed('order', () => kill(killedAfter)),
        ]);
        await Promise.all([during, after].map((one) => one.decided('rule')));
        await Promise.all([killedDuring, killedAfter].map((one) => one.decided('order')));
        lab.note(`the gateway decides by every change ${(performance.now() - restoredAt).toFixed(0)} ms after the cut`);
        await killedDuring.changed('allowed', () => site.order(killedDuring.agentId, 'running'));
        await killedDuring.decided('allowed');
        load.running.stop();
      },
    });
  } finally {
    await Promise.all(callers.map((one) => one.stop()));
  }
  await pool.close();
  const answers = callers.flatMap((one) => one.answers);
  const count = (which: (answer: Answer) => boolean) => answers.filter(which).length;
  const wrong = callers.flatMap((one) => one.wrong('allowed'));
  const lastWrong = wrong.at(-1);
  if (lastWrong !== undefined) {
    const [first] = wrong;
    const at = (answer: Answer | undefined) => ((answer?.sentAt ?? 0) - cutAt).toFixed(0);
    lab.note(`wrong answers from ${at(first)} to ${at(lastWrong)} ms after the cut, the first "${first?.outcome}"`);
  }
  lab.measure(`answers, ${name}`, answers.length, 'calls');
  lab.measure(
    `by the fail mode, ${name}`,
    count(({ outcome }) => outcome === 'fail mode'),
    'calls',
  );
  const decidedIn = (fromMs: number, toMs: number) =>
    count((one) => one.byGateway && one.outcome !== 'fail mode' && one.sentAt >= fromMs && one.answeredAt <= toMs);
  const failed = count(({ outcome, sentAt }) => outcome === 'fail mode' && sentAt >= cutAt && sentAt <= restoredAt);
  lab.check(
    equal(`answers that no rule or order gave in time, ${name}`, 0, wrong.length),
    holds(`the gateway decided before, ${name}`, decidedIn(0, cutAt) > 0, String(decidedIn(0, cutAt)), 'some'),
    holds(`the fail mode decided during the cut, ${name}`, failed > 0, String(failed), 'some'),
  );
}

export const CUT_DECISIONS = [cutDecisions];
