import { AgentError, type ErrorInfo, isAgentError } from '../core/agent-error.ts';
import type { AgentEvent } from '../core/agent-event.ts';
import type { Json } from '../core/json.ts';
import { textOf } from '../core/message.ts';
import { asChildTokens, type TokenUsage } from '../core/token-usage.ts';
import { AgentSession } from '../session/agent-session.ts';
import type { AgentHandle } from './agent-handle.ts';
import type { AgentFunction } from './agent-internals.ts';
import type { RunLimits } from './capacity.ts';
import type { LiveSession } from './live-session.ts';
import { Subscription } from './subscription.ts';

export interface ChildOptions {
  readonly input: string;
  readonly toolUseId?: string;
  /** Runs independently until its handle or its parent is shut down. */
  readonly background?: boolean;
  readonly limits?: Partial<RunLimits>;
}

export interface ChildResult {
  readonly sessionId: string;
  readonly success: boolean;
  readonly result?: Json;
  readonly error?: ErrorInfo;
  readonly usage: TokenUsage;
}

interface Spawned {
  readonly live: LiveSession;
  readonly handle: AgentHandle;
}

/** Starts child agents with their lineage and their parent's denies, and passes their events and tokens up. */
export class SubAgents {
  readonly #spawn: (
    session: AgentSession,
    agent: AgentFunction,
    parent: LiveSession,
    limits: Partial<RunLimits>,
  ) => Spawned;

  constructor(
    spawn: (session: AgentSession, agent: AgentFunction, parent: LiveSession, limits: Partial<RunLimits>) => Spawned,
  ) {
    this.#spawn = spawn;
  }

  async andWait(
    parent: LiveSession,
    agentType: string,
    agent: AgentFunction,
    options: ChildOptions,
  ): Promise<ChildResult> {
    const { live, handle } = this.#begin(parent, agentType, agent, options);
    const { sessionId } = live.session;
    parent.move({ type: 'child-awaited', sessionId });
    const stop = () => live.interrupt(isAgentError(parent.turnSignal.reason) ? parent.turnSignal.reason : undefined);
    parent.turnSignal.addEventListener('abort', stop, { once: true });
    try {
      const followed = follow(parent, live);
      handle.sendInput(options.input);
      const result = await followed;
      await handle.shutdown();
      return result;
    } finally {
      parent.turnSignal.removeEventListener('abort', stop);
      if (!parent.turnSignal.aborted) parent.move({ type: 'child-complete', sessionId });
    }
  }

  inBackground(parent: LiveSession, agentType: string, agent: AgentFunction, options: ChildOptions): AgentHandle {
    const { live, handle } = this.#begin(parent, agentType, agent, options);
    void follow(parent, live);
    handle.sendInput(options.input);
    return handle;
  }

  #begin(
    parent: LiveSession,
    agentType: string,
    agent: AgentFunction,
    { toolUseId, limits = {} }: ChildOptions,
  ): Spawned {
    const { limits: most, effects } = parent.options;
    if (parent.depth + 1 > most.depth) throw new AgentError('capacity', 'sub-agents are nested too deeply');
    if (parent.session.getChildSessions().length >= most.childrenPerSession)
      throw new AgentError('capacity', 'the session has too many sub-agents');
    const { sessionId, model, provider } = parent.session;
    const session = AgentSession.subagent(agentType, sessionId, toolUseId ?? null, { effects, model, provider });
    parent.session.addChildSession(session.sessionId);
    const spawned = this.#spawn(session, agent, parent, limits);
    parent.children.add(spawned.live);
    const call = toolUseId === undefined ? {} : { toolUseId };
    parent.emit({ type: 'subagent-spawned', childSessionId: session.sessionId, agentType, ...call });
    return spawned;
  }
}

/** Forwards a child's events to its parent until its turn ends. */
async function follow(parent: LiveSession, child: LiveSession): Promise<ChildResult> {
  const { sessionId } = child.session;
  const subscription = new Subscription(child.log, { from: 'start' });
  let last: AgentEvent | undefined;
  for await (const event of subscription) {
    if (event.type === 'lagged') continue;
    // Deltas are only for observers of the child; the parent's log keeps the complete texts.
    if (event.type !== 'text-delta' && event.type !== 'thinking-delta')
      parent.emit({ type: 'subagent-output', childSessionId: sessionId, chunk: event });
    if (event.type !== 'done' && event.type !== 'error') continue;
    last = event;
    break;
  }
  const { usage } = child;
  parent.addUsage(asChildTokens(usage));
  const answer = last?.type === 'done' ? (last.result ?? lastText(child)) : undefined;
  const success = last?.type === 'done' && answer !== undefined;
  const result = answer === undefined ? {} : { result: answer };
  parent.emit({ type: 'subagent-complete', childSessionId: sessionId, ...result, usage, success });
  if (success) return { sessionId, success, ...result, usage };
  const error: ErrorInfo =
    last?.type === 'error' ? last.error : { code: 'aborted', message: 'the sub-agent ended without an answer' };
  return { sessionId, success: false, error, usage };
}

function lastText({ session }: LiveSession): string | undefined {
  const last = session.getHistory().findLast(({ role }) => role === 'assistant');
  return last === undefined ? undefined : textOf(last.content);
}
