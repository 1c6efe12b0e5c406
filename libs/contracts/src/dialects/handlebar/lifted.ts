import type { EventKind, JsonObject, RunOutcome, Severity, Usage } from '../../events.ts';
import { type PriceBook, pricedUsage } from '../agentlens/prices.ts';
import { cleanName } from './tolerant.ts';

/** Fields of an audit event that rules, runs and charts use, extracted from its data. */
interface Lifted {
  readonly severity: Severity;
  readonly isError: boolean;
  readonly toolName: string | undefined;
  readonly callId: string | undefined;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly outcome: RunOutcome | undefined;
  readonly agentName: string | undefined;
  readonly agentVersion: string | undefined;
  readonly usage: Usage | undefined;
}

const OUTCOMES: Readonly<Record<string, RunOutcome>> = {
  success: 'succeeded',
  ok: 'succeeded',
  error: 'failed',
  timeout: 'timed_out',
  interrupted: 'interrupted',
  blocked: 'interrupted',
  cancelled: 'cancelled',
};

/** Returns undefined for an unknown status. The run has still ended; its events then determine the outcome. */
export function outcomeOf(status: unknown): RunOutcome | undefined {
  return typeof status === 'string' && Object.hasOwn(OUTCOMES, status) ? OUTCOMES[status] : undefined;
}

export function liftedFrom(kind: EventKind, data: JsonObject, atMs: number, prices: PriceBook): Lifted {
  const tool = record(data.tool);
  const agent = kind === 'run.started' ? record(data.agent) : {};
  const { name: model, provider } = modelOf(data, prices);
  return {
    ...gravityOf(kind, data),
    toolName: name(tool.name) ?? name(data.toolName),
    callId: name(data.callId) ?? name(tool.callId),
    model,
    provider,
    outcome: kind === 'run.ended' ? outcomeOf(data.status) : undefined,
    agentName: name(agent.name),
    agentVersion: name(agent.version),
    usage: usageOf(kind, data, { model, provider: name(record(data.model).provider), atMs }, prices),
  };
}

function gravityOf(kind: EventKind, data: JsonObject): Pick<Lifted, 'severity' | 'isError'> {
  if (kind === 'tool.completed' && data.outcome === 'error') return { severity: 'error', isError: true };
  if (kind === 'llm.completed' && data.error != null) return { severity: 'error', isError: true };
  if (kind === 'error.raised') return { severity: data.fatal === true ? 'critical' : 'error', isError: true };
  if (kind === 'tool.decided' && data.verdict === 'BLOCK') return { severity: 'warn', isError: false };
  return { severity: 'info', isError: false };
}

function modelOf(data: JsonObject, prices: PriceBook): { name: string | undefined; provider: string | undefined } {
  const model = name(record(data.model).name) ?? name(data.model);
  if (model === undefined) return { name: undefined, provider: undefined };
  return { name: model, provider: name(record(data.model).provider) ?? prices.providerOf(model) ?? 'unknown' };
}

/** Larger numbers would corrupt totals. They stay in the data but are not counted. */
const MAX_COUNT = 1e12;
const MAX_USD = 100_000;

function usageOf(
  kind: EventKind,
  data: JsonObject,
  call: { model: string | undefined; provider: string | undefined; atMs: number },
  prices: PriceBook,
): Usage | undefined {
  const latencyMs = quantity(data.durationMs, MAX_COUNT);
  const timed = latencyMs === undefined ? undefined : { latencyMs };
  if (kind !== 'llm.completed' && kind !== 'cost.recorded') return timed;
  const usage: Usage = { ...tokensOf(record(data.tokens)), ...timed };
  const tokens = record(data.tokens);
  const priced = {
    ...{ ...call, usage },
    // The protocol defines `tokens.in` with the cached tokens in it.
    cachedInside: true,
    cacheWrite1hTokens: count(tokens.cacheWrite1h),
    reasoningTokens: count(tokens.reasoning),
    sentTotal: count(tokens.total),
    serviceTier: name(data.serviceTier),
  };
  return { ...usage, ...pricedUsage(quantity(data.costUsd, MAX_USD), priced, prices) };
}

function tokensOf(tokens: JsonObject): Usage {
  const [input, output] = [count(tokens.in), count(tokens.out)];
  const [read, write] = [count(tokens.cacheRead), count(tokens.cacheWrite)];
  return {
    ...(input === undefined ? {} : { inputTokens: input }),
    ...(output === undefined ? {} : { outputTokens: output }),
    ...(input === undefined && output === undefined ? {} : { totalTokens: (input ?? 0) + (output ?? 0) }),
    ...(read === undefined ? {} : { cacheReadTokens: read }),
    ...(write === undefined ? {} : { cacheWriteTokens: write }),
  };
}

function count(value: unknown): number | undefined {
  const amount = quantity(value, MAX_COUNT);
  return amount === undefined ? undefined : Math.round(amount);
}

function quantity(value: unknown, most: number): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= most ? value : undefined;
}

function record(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function name(value: unknown): string | undefined {
  const text = typeof value === 'string' ? cleanName(value) : '';
  return text === '' ? undefined : text;
}
