import { type AgentEvent, type EventKind, REPORTS_ENDED_CALLS } from '@agentlens/contracts';
import { isSameCallMetric, sameCallMetric } from './same-call.ts';

/** What one event adds to a metric; null: nothing. */
export type Quantity = (event: AgentEvent) => number | null;

/** Counts add one per event and are known (as zero) at every event; quantities are known only where one is reported. */
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

/** Metrics every agent has, by the names rules use. */
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
 * One per event: 1 for an error, else 0. Its count is the events and its sum the errors, so that a rate can never mix
 * two series that began at different times. Not a name for rules.
 */
export const ERROR_SHARE = '%error_share';

const PATH_PREFIX = 'path:';

export function isBuiltIn(name: string): name is BuiltInMetricName {
  return Object.hasOwn(BUILT_IN_METRICS, name);
}

/** The metric of a dot path into the event. */
export function pathMetric(path: string): string {
  return `${PATH_PREFIX}${path}`;
}

/** What `event` adds to `metric` (a built-in name, `path:<dot path>`, or that of a call); null: nothing. */
export function quantityOf(metric: string, event: AgentEvent): number | null {
  return quantityReader(metric)(event);
}

/** `quantityOf` for many events: the name is looked up once. */
export function quantityReader(metric: string): Quantity {
  if (metric === ERROR_SHARE) return (event) => (event.isError ? 1 : 0);
  if (isSameCallMetric(metric)) return (event) => (sameCallMetric(event) === metric ? 1 : null);
  if (metric.startsWith(PATH_PREFIX)) return finite(numberAt(metric.slice(PATH_PREFIX.length)));
  return isBuiltIn(metric) ? finite(BUILT_IN_METRICS[metric].quantity) : () => null;
}

function finite(read: Quantity): Quantity {
  return (event) => {
    const value = read(event);
    return value !== null && Number.isFinite(value) ? value : null;
  };
}

/** A number at a dot path, in metadata first, then in the payload. Text that looks like a number is not one. */
function numberAt(path: string): Quantity {
  const keys = path.split('.');
  return ({ metadata, payload }) => walk(metadata, path, keys) ?? walk(payload, path, keys);
}

function walk(root: unknown, path: string, keys: readonly string[]): number | null {
  // A key may itself hold dots (`gen_ai.usage.cost`): the whole path as one key comes before its parts.
  const whole = own(root, path);
  if (typeof whole === 'number') return whole;
  let here: unknown = root;
  for (const key of keys) here = own(here, key);
  return typeof here === 'number' ? here : null;
}

function own(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}
