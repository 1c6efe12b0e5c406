import type { EventKind, JsonObject, RunOutcome, Severity, Usage } from '../../events.ts';
import { type PriceBook, pricedUsage } from '../../prices.ts';
import { cleanName, repairId } from './tolerant.ts';

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
    callId: id(data.callId) ?? id(tool.callId),
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
  const tokens = record(data.tokens);
  const serviceTier = name(data.serviceTier);
  const usage: Usage = { ...tokensOf(tokens), ...searchesIn(data), ...timed };
  if (serviceTier !== undefined) usage.serviceTier = serviceTier;
  const reportedBy = name(data.reportedBy);
  if (reportedBy !== undefined) usage.reportedBy = reportedBy;
  // The protocol defines `tokens.in` with the cached tokens in it.
  const sent = { ...call, usage, cachedInside: true, sentTotal: count(tokens.total) };
  return pricedUsage(quantity(data.costUsd, MAX_USD), sent, prices);
}

/** Names of the protocol's counts in the usage. */
const COUNTS = [
  ['in', 'inputTokens'],
  ['out', 'outputTokens'],
  ['cacheRead', 'cacheReadTokens'],
  ['cacheWrite', 'cacheWriteTokens'],
  ['cacheWrite1h', 'cacheWrite1hTokens'],
  ['reasoning', 'reasoningTokens'],
  ['audioIn', 'audioInputTokens'],
  ['audioOut', 'audioOutputTokens'],
  ['cacheReadAudio', 'cacheReadAudioTokens'],
] as const;

function tokensOf(tokens: JsonObject): Usage {
  const usage: Usage = {};
  for (const [sent, kept] of COUNTS) {
    const amount = count(tokens[sent]);
    if (amount !== undefined) usage[kept] = amount;
  }
  const { inputTokens, outputTokens } = usage;
  if (inputTokens === undefined && outputTokens === undefined) return usage;
  return { ...usage, totalTokens: (inputTokens ?? 0) + (outputTokens ?? 0) };
}

function searchesIn({ webSearches, fileSearches }: JsonObject): Usage {
  const usage: Usage = {};
  const [web, files] = [count(webSearches), count(fileSearches)];
  if (web !== undefined) usage.webSearches = web;
  if (files !== undefined) usage.fileSearches = files;
  return usage;
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

function id(value: unknown): string | undefined {
  const isId = (typeof value === 'string' && value !== '') || typeof value === 'number';
  return isId ? repairId(String(value)) : undefined;
}
