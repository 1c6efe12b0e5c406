import { type AgentEvent, canonicalJson, REPORTS_ENDED_CALLS, sha256Hex } from '@agentlens/contracts';

const PREFIX = 'call:';
/** Of the hash: enough to tell the calls of one run apart. */
const HEX_DIGITS = 24;

/** An event is asked for its call once for each series of its batch. */
const known = new WeakMap<AgentEvent, string | null>();

/**
 * The metric that counts calls of the same tool with the same arguments as this event's; null where the event is no tool
 * call, or does not say with which arguments.
 */
export function sameCallMetric(event: AgentEvent): string | null {
  const before = known.get(event);
  if (before !== undefined) return before;
  const metric = metricOf(event);
  known.set(event, metric);
  return metric;
}

export function isSameCallMetric(metric: string): boolean {
  return metric.startsWith(PREFIX);
}

function metricOf({ kind, dialect, toolName, payload }: AgentEvent): string | null {
  const call = REPORTS_ENDED_CALLS.has(dialect) ? 'tool.completed' : 'tool.called';
  const { arguments: args } = payload;
  if (kind !== call || toolName === undefined || typeof args !== 'object' || args === null) return null;
  return `${PREFIX}${sha256Hex(canonicalJson([toolName, args])).slice(0, HEX_DIGITS)}`;
}
