import { type AgentEvent, canonicalJson, REPORTS_ENDED_CALLS, sha256Hex } from '@agentlens/contracts';

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

export function isSameCallMetric(metric: string): boolean {
  return metric.startsWith(PREFIX);
}

function metricOf({ kind, dialect, toolName, payload }: AgentEvent): string | null {
  const call = REPORTS_ENDED_CALLS.has(dialect) ? 'tool.completed' : 'tool.called';
  const { arguments: args } = payload;
  if (kind !== call || toolName === undefined || typeof args !== 'object' || args === null) return null;
  return `${PREFIX}${sha256Hex(canonicalJson([toolName, args])).slice(0, HEX_DIGITS)}`;
}
