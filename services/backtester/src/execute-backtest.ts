import type { BacktestExample, BacktestProgress, BacktestResult, GuardrailRule } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { ratesOf } from '@agentlens/guardrails';
import {
  ArrivalOrder,
  type BacktestCounts,
  type BacktestFinding,
  decisionOfRow,
  MAX_FINDINGS,
  RuleBacktest,
  type StoredDecisionRow,
  WARM_UP_MS,
} from '@agentlens/replay';
import { AGAINST } from './backtest-writer.ts';
import type { ClaimedBacktest, FinishedBacktest } from './backtests.repository.ts';
import { History, type HistoryRange } from './history.ts';
import type { JobHooks } from './job-runner.ts';
import { Outcomes } from './outcomes.ts';

const MAX_EVENTS = 5_000_000;
const MAX_DECISIONS = 2_000_000;
const MAX_DURATION_MS = 10 * 60_000;
const TOP_GROUPS = 20;
const MAX_MISS_EXAMPLES = 100;
const SAVED_BASIS = 'cost of the affected runs after their first stop; an agent that is stopped may act differently';

/** Reads history, evaluates the rule of a job over it, and looks up what followed. */
export async function executeBacktest(
  database: Database,
  job: ClaimedBacktest,
  hooks: JobHooks,
): Promise<FinishedBacktest> {
  const { tenantId, spec, rule, inForce } = job;
  const test = new RuleBacktest({ tenantId, rule, inForce, from: spec.from, assume: spec.assume });
  const range = { tenantId, fromMs: Date.parse(spec.from), toMs: Date.parse(spec.to), agentIds: spec.agentIds };
  const read = await readHistory(new History(database), test, range, hooks);
  const outcomes = new Outcomes(database);
  const judged = await outcomes.of(tenantId, test.findings);
  const touched = new Set(test.findings.flatMap(({ runId }) => runId ?? []));
  const missed = await outcomes.missed(range, touched);
  const examples = [
    ...test.findings.map((finding, n): BacktestExample => ({ ...finding, outcome: judged[n] ?? 'unknown' })),
    ...missed.runs.slice(0, MAX_MISS_EXAMPLES).map(
      ({ runId, agentId, at, status, flagged }): BacktestExample => ({
        ...{ kind: 'miss', at, agentId, runId, outcome: 'harmful' },
        message: flagged && status === 'succeeded' ? 'The run has an alert' : `The run ended as ${status}`,
      }),
    ),
  ];
  const cost = await outcomes.costAfter(tenantId, firstStops(test.findings));
  const happened = spec.ruleId === undefined ? undefined : await outcomes.happened(spec.ruleId, range);
  const result = resultOf(job, test, { examples, missed, cost, read, happened });
  const status = read.ended === 'stopped' ? 'cancelled' : read.ended === 'limit' ? 'partial' : 'succeeded';
  return { status, progress: read.progress, result, findings: examples };
}

interface Read {
  readonly progress: BacktestProgress;
  readonly ended: 'complete' | 'stopped' | 'limit';
  readonly misplaced: number;
}

/** Feeds events and decisions to the test in the order of time. */
async function readHistory(
  history: History,
  test: RuleBacktest,
  { tenantId, fromMs, toMs, agentIds }: HistoryRange,
  hooks: JobHooks,
): Promise<Read> {
  const range = { tenantId, fromMs: fromMs - WARM_UP_MS, toMs, agentIds };
  const startedAtMs = performance.now();
  const count = { events: 0, decisions: 0 };
  let readTo: string | undefined;
  const progress = (): BacktestProgress => {
    const seconds = Math.max(0.001, (performance.now() - startedAtMs) / 1_000);
    const perSecond = Math.round((count.events + count.decisions) / seconds);
    return { ...count, perSecond, ...(readTo === undefined ? {} : { readTo }) };
  };
  const order = new ArrivalOrder(tenantId);
  const to = new Date(toMs).toISOString();
  const warmUpFrom = new Date(range.fromMs).toISOString();
  const batches = test.needs.events ? arrivals(history, range, order, count) : none();
  const pages = test.needs.decisions ? history.decisions(range) : none();
  const waiting: StoredDecisionRow[] = [];
  let more = true;
  let ended: Read['ended'] = 'complete';
  /** Decides everything before an instant. */
  const decideUntil = async (instant: string | undefined): Promise<void> => {
    for (;;) {
      if (waiting.length === 0 && more) {
        const page = await pages.next();
        more = page.done !== true;
        if (page.done !== true) waiting.push(...page.value);
        if (!(await goesOn())) return;
      }
      const next = waiting[0];
      if (next === undefined) {
        if (more) continue;
        return;
      }
      if (instant !== undefined && next.decided_at > instant) return;
      waiting.shift();
      count.decisions += 1;
      readTo = next.decided_at;
      await test.decision(decisionOfRow(tenantId, next));
    }
  };
  const goesOn = async (): Promise<boolean> => {
    if (ended !== 'complete') return false;
    const isTooMuch = count.events > MAX_EVENTS || count.decisions > MAX_DECISIONS;
    if (isTooMuch || performance.now() - startedAtMs > MAX_DURATION_MS) ended = 'limit';
    else if (!(await hooks.proceed(progress()))) ended = 'stopped';
    return ended === 'complete';
  };
  for await (const page of batches) {
    for (const batch of page) {
      if (batch.receivedAt < warmUpFrom || batch.receivedAt >= to) continue;
      await decideUntil(batch.receivedAt);
      if (ended !== 'complete') break;
      readTo = batch.receivedAt;
      await test.events(batch);
    }
    if (!(await goesOn())) break;
  }
  if (ended === 'complete') await decideUntil(undefined);
  return { progress: progress(), ended, misplaced: order.misplaced };
}

async function* arrivals(history: History, range: HistoryRange, order: ArrivalOrder, count: { events: number }) {
  for await (const rows of history.events(range)) {
    count.events += rows.length;
    yield order.take(rows);
  }
  yield order.rest();
}

async function* none(): AsyncGenerator<never> {}

function firstStops(findings: readonly BacktestFinding[]): Map<string, string> {
  const stops = new Map<string, string>();
  for (const { kind, runId, at } of findings) {
    if (kind === 'block' && runId !== undefined && !stops.has(runId)) stops.set(runId, at);
  }
  return stops;
}

interface Found {
  readonly examples: readonly BacktestExample[];
  readonly missed: { readonly count: number; readonly of: number };
  readonly cost: number;
  readonly read: Read;
  readonly happened: BacktestResult['happened'];
}

function resultOf({ spec, inForce }: ClaimedBacktest, test: RuleBacktest, found: Found): BacktestResult {
  const { totals } = test;
  const { asked, blocked, wouldAsk, triggers, undecided, modified, compared, undecidedBecause } = totals;
  const stops = found.examples.filter(({ kind }) => kind === 'block' || kind === 'ask');
  const judged = stops.filter(({ outcome }) => outcome !== 'unknown').length;
  const harmless = stops.filter(({ outcome }) => outcome === 'harmless');
  const falseByDay = Map.groupBy(harmless, ({ at }) => at.slice(0, 10));
  const calls = { asked, stopped: blocked, wouldStop: wouldAsk, bypassed: 0, judged, harmless: harmless.length };
  const { falseRejectionRate } = ratesOf(calls);
  const rate = falseRejectionRate === null ? null : Number(falseRejectionRate.toPrecision(12));
  const why = whyNotExact(test, found.read, undecided, spec.agentIds);
  const { from, to, clampedFrom } = spec;
  const warmUpFrom = new Date(Date.parse(from) - WARM_UP_MS).toISOString();
  return {
    range: { from, to, warmUpFrom, ...(clampedFrom === undefined ? {} : { clampedFrom }) },
    ...{ asked, blocked, wouldAsk, triggers, undecided, modified },
    days: [...totals.byDay]
      .map(([name, counts]) => ({ name, ...counts, falseRejections: falseByDay.get(name)?.length ?? 0 }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    ...{ tools: most(totals.byTool), agents: most(totals.byAgent), runs: most(totals.byRun) },
    affectedRuns: totals.byRun.size,
    falseRejections: { count: harmless.length, judged, rate },
    misses: { count: found.missed.count, of: found.missed.of },
    compared: compared === null || inForce === undefined ? null : { ...versionOf(inForce), ...compared },
    ...(found.happened && { happened: found.happened }),
    saved: { afterStopUsd: Number(found.cost.toFixed(6)), basis: SAVED_BASIS },
    coverage: {
      percent: asked === 0 ? 100 : Math.round((1_000 * (asked - undecided)) / asked) / 10,
      causes: Object.entries(undecidedBecause).map(([cause, calls]) => ({ cause, calls })),
    },
    ...{ exact: why.length === 0, why },
  };
}

function whyNotExact(
  test: RuleBacktest,
  { ended, misplaced }: Read,
  undecided: number,
  agentIds: readonly string[] | undefined,
): string[] {
  return [
    ...(test.countsEveryAgent && agentIds !== undefined ? ['Sources of data that other agents read are missing'] : []),
    ...(undecided === 0 ? [] : [`${undecided} calls cannot be judged, because what the rule reads is not kept`]),
    ...(misplaced === 0 ? [] : [`${misplaced} events were evaluated late: the clocks of their agents were fast`]),
    ...(ended === 'limit' ? ['The history is larger than one job may read; the rest is missing'] : []),
    ...(ended === 'stopped' ? ['It was cancelled; the rest is missing'] : []),
    ...(test.findings.length < MAX_FINDINGS ? [] : [`Only the first ${MAX_FINDINGS} findings are judged`]),
    ...(test.needs.events ? ['The order of events that arrived in the same millisecond is not kept'] : []),
    ...(test.needs.decisions
      ? ['Tags of agents and tools are those of today; redacted arguments are read redacted']
      : []),
  ];
}

function most(groups: ReadonlyMap<string, BacktestCounts>) {
  const stops = ({ blocked, wouldAsk, triggers }: BacktestCounts) => blocked + wouldAsk + triggers;
  return [...groups]
    .map(([name, counts]) => ({ name, ...counts }))
    .sort((a, b) => stops(b) - stops(a) || (a.name < b.name ? -1 : 1))
    .slice(0, TOP_GROUPS);
}

function versionOf({ id, version }: GuardrailRule): { readonly version?: number } {
  return id === AGAINST ? {} : { version };
}
