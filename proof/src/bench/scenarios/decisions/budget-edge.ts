import { Pool } from 'undici';
import { Latencies } from '../../../harness/statistics.ts';
import { until } from '../../../harness/time.ts';
import type { Bench } from '../../scenario.ts';
import type { Stage } from '../../stage.ts';
import { UsageMeter } from '../../usage-meter.ts';

const CALLERS = 500;
/** Micro-dollars, the unit in which budgets are stored. */
const LIMIT = 10_000_000;
const ESTIMATE = 50_000;
const SETTLED_MS = 30_000;
const MODEL = { name: 'bench-model', provider: 'bench' };

/** Actual cost of the calls of a wave: first less than estimated, so that money is returned, then more. */
const WAVES = [{ cost: 25_000 }, { cost: 60_000 }] as const;

/**
 * Five hundred concurrent callers at the edge of one budget, twice. Every caller that fits must be allowed, no other
 * may be, and the overspend must equal the estimate error, to the micro-dollar.
 */
export async function atTheEdgeOfABudget(bench: Bench, stage: Stage): Promise<void> {
  bench.progress(`decisions: ${CALLERS} callers at the edge of a budget`);
  await stage.setRules([]);
  const bank = new Bank(stage, `spender-${process.pid}-${Date.now()}`);
  const meter = new UsageMeter(stage.stack);
  const startedAt = performance.now();
  let [spent, granted, refusedWithMoney, grantedWithout, error] = [0, 0, 0, 0, 0];
  try {
    await bank.open();
    for (const [wave, { cost }] of WAVES.entries()) {
      const fits = Math.floor((LIMIT - spent) / ESTIMATE);
      const callers = await bank.allAtOnce(wave);
      refusedWithMoney += Math.max(0, fits - callers.length);
      grantedWithout += Math.max(0, callers.length - fits);
      granted += callers.length;
      error += callers.length * Math.max(0, cost - ESTIMATE);
      spent = await bank.settle(callers, cost, spent + callers.length * cost);
    }
  } finally {
    await bank.close();
  }
  const { cpuMicros, rssBytes } = meter.stop();
  const asked = CALLERS * WAVES.length;
  const overshoot = Math.max(0, spent - LIMIT);
  bench.found({
    ...{ scenario: 'decisions', variant: `${CALLERS} callers at the edge of a budget, twice`, shape: 'distributed' },
    ...{ unit: 'request', count: asked, seconds: (performance.now() - startedAt) / 1_000, rssBytes },
    cpuMicros: Object.fromEntries(Object.entries(cpuMicros).map(([name, micros]) => [name, micros / asked])),
    latency: { [`decision, ${CALLERS} in flight`]: bank.latencies.summary() },
    checks: [
      { name: 'callers refused while money was left', expected: 0, actual: refusedWithMoney },
      { name: 'callers let through without money', expected: 0, actual: grantedWithout },
      { name: 'money over the limit beyond the estimate error, USD/1e6', expected: 0, actual: overshoot - error },
    ],
    notes: {
      'let through': granted,
      'refused while money was left': refusedWithMoney,
      'money over the limit': usd(overshoot),
      'estimate error': usd(error),
      'retried after a decision timed out': bank.askedAgain,
    },
  });
}

function usd(millionths: number): string {
  return `${(millionths / 1e6).toFixed(6)} USD`;
}

interface Caller {
  readonly runId: string;
  readonly callId: string;
}

/** One agent's budget and its callers. */
class Bank {
  readonly latencies = new Latencies();
  /** Number of decisions that timed out. Such a response says nothing about the budget. */
  askedAgain = 0;
  private readonly stage: Stage;
  private readonly agentId: string;
  private readonly pool: Pool;
  private budgetId = '';

  constructor(stage: Stage, agentId: string) {
    this.stage = stage;
    this.agentId = agentId;
    this.pool = new Pool(stage.stack.ingestUrl, { connections: CALLERS });
  }

  async open(): Promise<void> {
    const budget = { name: 'edge', scope: 'agent', scopeId: this.agentId, period: 'total', limitUsd: LIMIT / 1e6 };
    const query = new Pool(this.stage.stack.queryUrl, { connections: 1 });
    const { status, body } = await this.post(query, '/api/budgets', { ...budget, onUnavailable: 'block' });
    await query.close();
    if (status !== 201) throw new Error(`creating the budget returned ${status}`);
    this.budgetId = (body as { readonly id: string }).id;
  }

  /** Returns the callers that were allowed. */
  async allAtOnce(wave: number): Promise<readonly Caller[]> {
    const callers = Array.from({ length: CALLERS }, (_, n) => ({
      runId: `${this.agentId}-${wave}-${n}`,
      callId: `call-${wave}-${n}`,
    }));
    const answers = await Promise.all(callers.map((caller) => this.asks(caller)));
    return callers.filter((_, n) => answers[n] === true);
  }

  /** Reports what the calls cost and waits until the ledger agrees. Returns the ledger's value. */
  async settle(callers: readonly Caller[], cost: number, expected: number): Promise<number> {
    for (let from = 0; from < callers.length; from += 50) {
      const events = callers.slice(from, from + 50).map(({ runId, callId }) => ({
        ...{ schema: 'handlebar.audit.v1', id: `${runId}-${callId}`, ts: new Date().toISOString(), runId },
        ...{ kind: 'llm.result', data: { model: MODEL, callId, tokens: { in: 10, out: 10 }, costUsd: cost / 1e6 } },
      }));
      const { status } = await this.post(this.pool, '/v1/runs/events', { agentId: this.agentId, events });
      if (status !== 200) throw new Error(`reporting the costs returned ${status}`);
    }
    const spent = async () => {
      const { rows } = await this.stage.pool.query<{ spent: string }>(
        'select coalesce(round(sum(cost_usd) * 1000000), 0)::text as spent from budget_ledger where budget_id = $1',
        [this.budgetId],
      );
      return Number(rows[0]?.spent);
    };
    const settled = async () => ((await spent()) >= expected ? true : undefined);
    await until('the ledger', settled, SETTLED_MS, async () => `, ${await spent()} of ${expected}`);
    return spent();
  }

  close(): Promise<void> {
    return this.pool.close();
  }

  private async asks({ runId, callId }: Caller): Promise<boolean> {
    const question = { phase: 'llm.before', agentId: this.agentId, callId, tags: {}, deadlineMs: 2_000 };
    const estimate = { tokens: 20, costUsd: ESTIMATE / 1e6 };
    for (;;) {
      const sentAt = performance.now();
      const { body } = await this.post(this.pool, `/v1/runs/${runId}/evaluate`, { ...question, estimate });
      this.latencies.record((performance.now() - sentAt) * 1_000);
      const { verdict, bypasses } = body as { readonly verdict: string; readonly bypasses: readonly unknown[] };
      if (bypasses.length === 0) return verdict === 'ALLOW';
      this.askedAgain += 1;
    }
  }

  private async post(pool: Pool, path: string, body: unknown) {
    const headers = { authorization: `Bearer ${this.stage.stack.key}`, 'content-type': 'application/json' };
    const answer = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) });
    return { status: answer.statusCode, body: await answer.body.json() };
  }
}
