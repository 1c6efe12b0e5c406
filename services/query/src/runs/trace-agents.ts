import type { TraceAgent } from '@agentlens/operations';

/** The end of an agent inside a trace, from its event. */
export interface AgentSpan {
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly failed: boolean;
}

/** A call of a trace, and what it adds to its agent's totals. */
export interface TraceCall {
  readonly parentSpanId: string | undefined;
  /** The agent that made the call, if its span names one. */
  readonly agentName: string | undefined;
  readonly atMs: number;
  readonly isModelCall: boolean;
  readonly isError: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

/** Sums are rounded to a millionth of a micro-dollar. */
const PLACES = 1e12;

interface OpenAgent extends AgentSpan {
  readonly parent: OpenAgent | undefined;
  readonly depth: number;
  readonly calls: TraceCall[];
}

/**
 * Returns the agents inside a run that is a trace, each parent before its children, the earliest first, with each
 * agent's own calls. Steps between a call and its agent are not stored, so a call belongs to, in this order: the agent
 * that is its parent; an agent with the name in the call, among those that ran when the call ended; the innermost of
 * those. An agent nested in one of the same name is the same agent, reported twice.
 */
export function traceAgents(spans: readonly AgentSpan[], calls: readonly TraceCall[]): TraceAgent[] {
  const agents: OpenAgent[] = [];
  const byLength = spans.toSorted((a, b) => a.startMs - b.startMs || b.endMs - a.endMs);
  for (const span of byLength) {
    const around = innermost(agents.filter((agent) => agent.startMs <= span.startMs && agent.endMs >= span.endMs));
    const parent = agents.find(({ spanId }) => spanId === span.parentSpanId) ?? around;
    if (parent?.name === span.name) continue;
    agents.push({ ...span, parent, depth: parent === undefined ? 0 : parent.depth + 1, calls: [] });
  }
  for (const call of calls) makerOf(call, agents)?.calls.push(call);
  return agents.filter(({ parent }) => parent === undefined).flatMap((agent) => branchOf(agent, agents));
}

function makerOf({ parentSpanId, agentName, atMs }: TraceCall, agents: readonly OpenAgent[]): OpenAgent | undefined {
  const parent = agents.find(({ spanId }) => spanId === parentSpanId);
  if (parent !== undefined) return parent;
  const running = agents.filter(({ startMs, endMs }) => startMs <= atMs && endMs >= atMs);
  const named = running.filter(({ name }) => name === agentName);
  return innermost(named.length > 0 ? named : running);
}

/** Of agents that ran at the same time, the one that started last. */
function innermost(agents: readonly OpenAgent[]): OpenAgent | undefined {
  return agents.reduce<OpenAgent | undefined>(
    (inner, agent) => (inner === undefined || agent.startMs >= inner.startMs ? agent : inner),
    undefined,
  );
}

function branchOf(agent: OpenAgent, agents: readonly OpenAgent[]): TraceAgent[] {
  const children = agents.filter(({ parent }) => parent === agent);
  return [viewOf(agent), ...children.flatMap((child) => branchOf(child, agents))];
}

function viewOf({ spanId, parent, name, depth, startMs, endMs, failed, calls }: OpenAgent): TraceAgent {
  const sum = (read: (call: TraceCall) => number) => calls.reduce((all, call) => all + read(call), 0);
  return {
    spanId,
    ...(parent === undefined ? {} : { parentSpanId: parent.spanId }),
    name,
    depth,
    status: failed ? 'failed' : 'succeeded',
    startedAt: new Date(startMs).toISOString(),
    endedAt: new Date(endMs).toISOString(),
    llmCalls: sum(({ isModelCall }) => Number(isModelCall)),
    toolCalls: sum(({ isModelCall }) => Number(!isModelCall)),
    errors: sum(({ isError }) => Number(isError)),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    costUsd: Math.round(sum(({ costUsd }) => costUsd) * PLACES) / PLACES,
  };
}
