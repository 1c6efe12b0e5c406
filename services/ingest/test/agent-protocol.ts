import {
  type AgentEvent,
  COMMANDS,
  type ControlOrder,
  type Decision,
  type DecisionRequest,
  derivedId,
} from '@agentlens/contracts';
import type { Subscription } from '@agentlens/messaging';
import { type Answer, type Gateway, NOW, startGateway } from './gateway.ts';

type Scripted = (request: DecisionRequest) => Partial<Decision> | Promise<Partial<Decision>>;

/** A gateway with a scripted evaluator, and the calls of the agent protocol. */
export interface Protocol {
  readonly gateway: Gateway;
  /** Questions as the evaluator received them. */
  readonly asked: DecisionRequest[];
  /** Sets the answer of the evaluator from now on. By default it allows. */
  answer(script: Scripted): void;
  /** Stops the evaluator. */
  leave(): Promise<void>;
  /** The published events of a kind: first arrival, id and hash, each once. */
  distinct(kind: AgentEvent['kind']): ReadonlySet<string>;
  /** Sends audit events of agent `bot`. */
  send(events: readonly unknown[]): Promise<Answer>;
  call(method: 'POST' | 'PUT' | 'GET', path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  close(): Promise<void>;
}

export interface CallOptions {
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function startProtocol(env: Record<string, string> = {}): Promise<Protocol> {
  const gateway = await startGateway({ env });
  const asked: DecisionRequest[] = [];
  let script: Scripted = () => ({});
  const evaluator: Subscription = await gateway.bus.serve(COMMANDS.decide, async (request) => {
    asked.push(request);
    return { ok: true as const, value: { ...allowing(request), ...(await script(request)) } };
  });
  const call: Protocol['call'] = (method, path, body, { key = gateway.keys.agent, headers = {} } = {}) =>
    gateway.inject({
      method,
      url: path,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return {
    gateway,
    asked,
    answer: (next) => {
      script = next;
    },
    leave: () => evaluator.close(),
    distinct: (kind) => {
      const ofKind = gateway.events().filter((event) => event.kind === kind);
      return new Set(ofKind.map(({ occurredAt, id, hash }) => `${occurredAt}/${id}/${hash}`));
    },
    send: (events) => call('POST', '/v1/runs/events', { agentId: 'bot', events }),
    call,
    close: () => gateway.close(),
  };
}

export function allowing({ tenantId, agentId, runId, phase, tool }: DecisionRequest): Decision {
  return {
    id: 'decision-1',
    tenantId,
    agentId,
    runId,
    phase,
    toolName: tool?.name,
    verdict: 'ALLOW',
    control: 'CONTINUE',
    effect: 'allow',
    cause: { kind: 'ALLOW' },
    message: 'Allowed',
    evaluatedRules: [],
    bypasses: [],
    inputsDigest: 'digest',
    latencyMs: 0.1,
    decidedAt: NOW,
  };
}

export const QUESTION = { phase: 'tool.before', agentId: 'bot', tool: { name: 'search' }, args: { q: 'x' }, tags: {} };

export const RUN = derivedId(Date.parse('2026-03-01T11:59:00.000Z'), 'run');

export function auditEvent(fields: Record<string, unknown>): object {
  return { schema: 'handlebar.audit.v1', ts: '2026-03-01T11:59:30.000Z', runId: RUN, ...fields };
}

export function anOrder(fields: Partial<ControlOrder> = {}): ControlOrder {
  return {
    id: 'order-1',
    tenantId: 'acme',
    scope: 'run',
    scopeId: RUN,
    state: 'killed',
    reason: 'runaway',
    by: 'ops',
    version: 1,
    issuedAt: NOW,
    ...fields,
  };
}
