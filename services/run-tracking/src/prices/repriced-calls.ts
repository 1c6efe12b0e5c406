import {
  type CostSource,
  recordQuote,
  HANDLEBAR_DIALECT,
  normalUsage,
  type PriceBook,
  type RepricedModel,
  type Usage,
} from '@agentlens/contracts';
import { PRICING } from '../recording/recording.sql.ts';

/** A stored model call. */
export interface StoredCall {
  readonly occurredAt: string;
  readonly eventId: string;
  readonly dialect: string;
  readonly model: string | null;
  readonly provider: string | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** Exact decimal text, USD. */
  readonly costUsd: string | null;
  readonly costSource: CostSource;
  readonly pricing: Record<string, unknown> | null;
  /** Counts as the client sent them; only for events from before `pricing`. */
  readonly counts: Record<string, unknown> | null;
}

/** What changes about one call. */
export interface CallChange {
  readonly at: string;
  readonly id: string;
  /** USD as decimal text; null if it is unknown. */
  readonly cost: string | null;
  readonly source: CostSource;
  readonly pricing: string;
}

export interface PageChanges {
  /** Only calls that differ from what is stored. */
  readonly changes: readonly CallChange[];
  readonly byModel: ReadonlyMap<string, RepricedModel>;
}

/** Digits after the decimal point that the database keeps. */
const DIGITS = 12;

/** Prices stored calls again, with the prices of the time of each call. */
export function changesOf(calls: readonly StoredCall[], prices: PriceBook): PageChanges {
  const changes: CallChange[] = [];
  const byModel = new Map<string, RepricedModel>();
  for (const call of calls) {
    const change = changeOf(call, prices);
    const sums = sumsOf(byModel, call);
    const oldUsd = Number(call.costUsd ?? 0);
    const cost = change === undefined ? call.costUsd : change.cost;
    const source = change?.source ?? call.costSource;
    sums.calls += 1;
    sums.oldUsd += oldUsd;
    sums.newUsd += Number(cost ?? 0);
    if (source === 'unpriced') sums.unpriced += 1;
    if (change === undefined) continue;
    if (Number(cost ?? 0) !== oldUsd || source !== call.costSource) sums.changed += 1;
    changes.push(change);
  }
  return { changes, byModel };
}

function changeOf(call: StoredCall, prices: PriceBook): CallChange | undefined {
  const { occurredAt: at, eventId: id, model, costSource } = call;
  const usage = usageOf(call);
  if (model === null || (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0) === 0) return undefined;
  const quote = prices.quote({ model, provider: call.provider ?? undefined, usage, atMs: Date.parse(at) });
  const computed = 'costUsd' in quote ? rounded(quote.costUsd) : undefined;
  const isReported = costSource === 'reported';
  const cost = isReported ? call.costUsd : (computed ?? null);
  const source = isReported ? 'reported' : computed === undefined ? 'unpriced' : 'priced';
  const { computedCostUsd: _, priceRef: __, unpricedReason: ___, estimatedCostUsd: ____, ...others } = usage;
  const { feesUsd: _____, approximation: ______, ...counts } = others;
  const priced =
    'costUsd' in quote
      ? recordQuote(quote)
      : isReported
        ? {}
        : { unpricedReason: quote.unpriced, estimatedCostUsd: quote.estimateUsd };
  const pricing = kept({ ...counts, ...priced });
  const isSame = source === costSource && sameUsd(cost, call.costUsd) && pricing === kept(call.pricing ?? {});
  return isSame ? undefined : { at, id, cost, source, pricing };
}

/** The usage in normal form. Events from before `pricing` have the cached tokens only in what the client sent. */
function usageOf(call: StoredCall): Usage {
  const base = { inputTokens: call.inputTokens ?? undefined, outputTokens: call.outputTokens ?? undefined };
  const counted = Object.fromEntries(Object.entries(base).filter(([, count]) => count !== undefined)) as Usage;
  if (call.pricing !== null) return { ...counted, ...(call.pricing as Usage) };
  const { counts } = call;
  const sent: Usage = { ...counted };
  for (const [kind, names] of EARLIER_COUNTS) {
    const count = names.map((name) => counts?.[name]).find((value) => typeof value === 'number' && value > 0);
    if (typeof count === 'number') sent[kind] = Math.round(count);
  }
  const { model, provider, dialect } = call;
  const about = { model: model ?? undefined, provider: provider ?? undefined, usage: sent };
  return normalUsage(dialect === HANDLEBAR_DIALECT ? { ...about, cachedInside: true } : about);
}

/** Names of counts in payloads: of the AgentLens vocabulary and OpenTelemetry, then of the audit protocol. */
const EARLIER_COUNTS = [
  ['cacheReadTokens', ['cacheReadTokens', 'cacheRead']],
  ['cacheWriteTokens', ['cacheWriteTokens', 'cacheWrite']],
  ['cacheWrite1hTokens', ['cacheWrite1hTokens', 'cacheWrite1h']],
  ['reasoningTokens', ['reasoningTokens', 'thinkingTokens', 'reasoning']],
] as const;

/** JSON with the members in a fixed order, so that equal values are equal texts. */
function kept(pricing: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(
    Object.fromEntries(PRICING.flatMap((name) => (pricing[name] === undefined ? [] : [[name, pricing[name]]]))),
  );
}

function rounded(usd: number): string {
  return usd.toFixed(DIGITS);
}

function sameUsd(one: string | null, other: string | null): boolean {
  return one === null || other === null ? one === other : rounded(Number(one)) === rounded(Number(other));
}

function sumsOf(byModel: Map<string, RepricedModel>, call: StoredCall): RepricedModel {
  const [provider, model] = [call.provider ?? 'unknown', call.model ?? ''];
  const key = JSON.stringify([provider, model]);
  const known = byModel.get(key) ?? { provider, model, calls: 0, changed: 0, oldUsd: 0, newUsd: 0, unpriced: 0 };
  byModel.set(key, known);
  return known;
}
