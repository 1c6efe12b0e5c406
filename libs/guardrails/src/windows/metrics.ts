import {
  type AgentEvent,
  canonicalJson,
  type EventKind,
  OTLP_DIALECT,
  REPORTS_ENDED_CALLS,
  sha256Hex,
} from '@agentlens/contracts';
import { exactNumber } from '../patterns/exact-number.ts';

/** Returns what an event adds to a metric, or null. */
export type Quantity = (event: AgentEvent) => number | null;

/**
 * Counts add one per event and are known (possibly zero) at every event; quantities are known only on events that
 * report one.
 */
interface BuiltInMetric {
  readonly nature: 'count' | 'quantity';
  readonly title: string;
  readonly unit: string;
  readonly quantity: Quantity;
}

const count = (title: string, applies: (event: AgentEvent) => boolean): BuiltInMetric => ({
  nature: 'count',
  title,
  unit: '',
  quantity: (event) => (applies(event) ? 1 : null),
});

const quantity = (title: string, unit: string, read: (event: AgentEvent) => number | undefined): BuiltInMetric => ({
  nature: 'quantity',
  title,
  unit,
  quantity: (event) => read(event) ?? null,
});

function totalTokens({ usage }: AgentEvent): number | undefined {
  if (usage?.totalTokens !== undefined) return usage.totalTokens;
  if (usage?.inputTokens === undefined && usage?.outputTokens === undefined) return undefined;
  return (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
}

const isCall = (event: AgentEvent, begun: EventKind, ended: EventKind) =>
  event.kind === (REPORTS_ENDED_CALLS.has(event.dialect) ? ended : begun);

/** Metrics of every agent, by the names used in rules. */
export const BUILT_IN_METRICS = {
  event_count: count('Events', () => true),
  error_count: count('Errors', (event) => event.isError),
  session_count: count('Sessions started', (event) => event.kind === 'run.started'),
  tool_call_count: count('Tool calls', (event) => isCall(event, 'tool.called', 'tool.completed')),
  llm_call_count: count('Model calls', (event) => isCall(event, 'llm.called', 'llm.completed')),
  input_tokens: quantity('Input tokens', 'tokens', (event) => event.usage?.inputTokens),
  output_tokens: quantity('Output tokens', 'tokens', (event) => event.usage?.outputTokens),
  total_tokens: quantity('Tokens', 'tokens', totalTokens),
  cost_usd: quantity('Cost', 'USD', (event) => event.usage?.costUsd),
  latency_ms: quantity('Latency', 'ms', (event) => event.usage?.latencyMs),
} as const satisfies Record<string, BuiltInMetric>;
export type BuiltInMetricName = keyof typeof BUILT_IN_METRICS;

/**
 * Adds 1 for an error and 0 for any other event, so its count is the events and its sum the errors. A single series
 * keeps a rate from mixing two that began at different times. Not available to rules by name.
 */
export const ERROR_SHARE = '%error_share';

/** Adds 1 for a failed call and 0 for a successful one, on completion; see `ERROR_SHARE`. */
export const CALL_SHARES = { calls: '%call_share', tools: '%tool_share', models: '%model_share' } as const;

/**
 * Failures reported apart from calls: adds 1 for `error.raised` and 0 for a failed run. Its sum is the errors raised,
 * and its count minus its sum the failed runs.
 */
export const FAILURES_BESIDE_CALLS = '%failures_beside_calls';

/** Event kinds that complete a call, by what is counted. */
export const FINISHED_CALLS: Readonly<Record<keyof typeof CALL_SHARES, readonly EventKind[]>> = {
  calls: ['tool.completed', 'llm.completed'],
  tools: ['tool.completed'],
  models: ['llm.completed'],
};

const PATH_PREFIX = 'path:';

export function isBuiltIn(name: string): name is BuiltInMetricName {
  return Object.hasOwn(BUILT_IN_METRICS, name);
}

/** Returns the metric of a dot path into the event. */
export function pathMetric(path: string): string {
  return `${PATH_PREFIX}${path}`;
}

/** Returns what `event` adds to `metric` (a built-in name, `path:<dot path>`, or a same-call metric), or null. */
export function quantityOf(metric: string, event: AgentEvent): number | null {
  return quantityReader(metric)(event);
}

/** `quantityOf` for many events: resolves the name once. */
export function quantityReader(metric: string): Quantity {
  if (metric === ERROR_SHARE) return (event) => (event.isError ? 1 : 0);
  if (metric === CALL_SHARES.calls) return shareOf(FINISHED_CALLS.calls);
  if (metric === CALL_SHARES.tools) return shareOf(FINISHED_CALLS.tools);
  if (metric === CALL_SHARES.models) return shareOf(FINISHED_CALLS.models);
  if (metric === FAILURES_BESIDE_CALLS) return failureBesideCalls;
  if (isSameCallMetric(metric)) return (event) => (sameCallMetric(event) === metric ? 1 : null);
  if (metric.startsWith(PATH_PREFIX)) return finite(numberAt(metric.slice(PATH_PREFIX.length)));
  return isBuiltIn(metric) ? finite(BUILT_IN_METRICS[metric].quantity) : () => null;
}

function shareOf(kinds: readonly EventKind[]): Quantity {
  return ({ kind, isError }) => (kinds.includes(kind) ? Number(isError) : null);
}

function failureBesideCalls({ kind, isError, dialect, outcome }: AgentEvent): number | null {
  if (kind === 'error.raised') return 1;
  if (kind !== 'run.ended') return null;
  // In a trace, only the root's failure counts as a failed run. A failure of an agent inside it is reported by its
  // calls.
  const failed = dialect === OTLP_DIALECT ? isError : isError || outcome === 'failed';
  return failed ? 0 : null;
}

function finite(read: Quantity): Quantity {
  return (event) => {
    const value = read(event);
    return value !== null && Number.isFinite(value) ? value : null;
  };
}

/** Reads a number at a dot path, from metadata first, then from the payload. Plain numeric text is a number. */
function numberAt(path: string): Quantity {
  const keys = path.split('.');
  return ({ metadata, payload }) => walk(metadata, path, keys) ?? walk(payload, path, keys);
}

function walk(root: unknown, path: string, keys: readonly string[]): number | null {
  // A key may contain dots (`gen_ai.usage.cost`): try the whole path as one key first.
  const whole = own(root, path);
  const direct = numberOf(whole);
  if (direct !== null) return direct;
  let here: unknown = root;
  for (const key of keys) here = own(here, key);
  return numberOf(here);
}

function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && exactNumber(value) !== undefined ? Number(value) : null;
}

function own(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}

const PREFIX = 'call:';
/** Digits kept of the hash: enough to distinguish the calls of one run. */
const HEX_DIGITS = 24;

/** Cache, because an event is read once per series of its batch. */
const known = new WeakMap<AgentEvent, string | null>();

/**
 * Returns the metric that counts calls with the same tool and arguments as this event, or null if the event is not a
 * tool call or does not report its arguments.
 */
export function sameCallMetric(event: AgentEvent): string | null {
  const before = known.get(event);
  if (before !== undefined) return before;
  const metric = metricOf(event);
  known.set(event, metric);
  return metric;
}

function isSameCallMetric(metric: string): boolean {
  return metric.startsWith(PREFIX);
}

function metricOf({ kind, dialect, toolName, payload }: AgentEvent): string | null {
  const call = REPORTS_ENDED_CALLS.has(dialect) ? 'tool.completed' : 'tool.called';
  const { arguments: args } = payload;
  if (kind !== call || toolName === undefined || typeof args !== 'object' || args === null) return null;
  return `${PREFIX}${sha256Hex(canonicalJson([toolName, args])).slice(0, HEX_DIGITS)}`;
}
