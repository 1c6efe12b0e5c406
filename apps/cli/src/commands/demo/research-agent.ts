import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, ProblemError } from '@agentlens/client';
import type { DemoScreen } from './screen.ts';

const STEP_MS = 450;
const MAX_ATTEMPTS = 12;
const COST_USD: Readonly<Record<string, number>> = { 'gpt-4o': 0.06, 'gpt-4o-mini': 0.004 };

/**
 * A small agent with a realistic flaw: its search tool is down, and instead of giving up it asks its model and retries,
 * paying each time. It checks the platform's orders before each step.
 */
export class ResearchAgent {
  readonly sessionId = `run-${randomUUID().slice(0, 8)}`;
  readonly #client: Client;
  readonly #agentId: string;
  readonly #screen: DemoScreen;
  readonly #signal: AbortSignal;
  #model = 'gpt-4o';

  constructor(client: Client, agentId: string, screen: DemoScreen, signal: AbortSignal) {
    this.#client = client;
    this.#agentId = agentId;
    this.#screen = screen;
    this.#signal = signal;
  }

  /** @returns the number of attempts, and whether the agent was paused */
  async run(): Promise<{ readonly tries: number; readonly paused: boolean }> {
    this.#screen.agent('starts: "find three sources on tidal power"');
    await this.#report('session_started', { agentName: 'research-agent' });
    await this.#search(true);
    this.#screen.agent('found one source. Now its search tool goes down, and it keeps retrying ...');
    for (let tries = 1; tries <= MAX_ATTEMPTS; tries++) {
      const pause = await this.#obey();
      if (pause !== null) {
        this.#screen.agent(`was paused: "${pause}". It stops.`);
        await this.#report('session_ended', { reason: 'manual', summary: 'paused by a guardrail' });
        return { tries: tries - 1, paused: true };
      }
      await this.#think();
      await this.#search(false);
      await delay(STEP_MS, undefined, { signal: this.#signal });
    }
    await this.#report('session_ended', { reason: 'error' });
    return { tries: MAX_ATTEMPTS, paused: false };
  }

  /** Applies a model override. @returns the pause reason, or null if the agent is not paused */
  async #obey(): Promise<string | null> {
    const agent = await this.#self();
    if (agent === undefined) return null;
    if (agent.modelOverride !== undefined && agent.modelOverride !== this.#model) {
      this.#screen.agent(`switches to ${agent.modelOverride}, as ordered`);
      this.#model = agent.modelOverride;
    }
    return agent.pausedAt === undefined ? null : (agent.pauseReason ?? 'no reason given');
  }

  /** Undefined until the agent's first event is stored. */
  async #self() {
    try {
      return await this.#client.getAgent({ params: { id: this.#agentId } });
    } catch (error) {
      if (error instanceof ProblemError && error.status === 404) return undefined;
      throw error;
    }
  }

  async #think(): Promise<void> {
    const call = { callId: randomUUID(), provider: 'openai', model: this.#model };
    await this.#report('llm_call', { ...call, messages: [{ role: 'user', content: 'The search failed. What now?' }] });
    await this.#report('llm_response', {
      ...call,
      completion: 'Try the search again.',
      finishReason: 'stop',
      usage: { inputTokens: 21_000, outputTokens: 800, totalTokens: 21_800 },
      costUsd: COST_USD[this.#model] ?? 0,
      latencyMs: 2_100,
    });
  }

  async #search(works: boolean): Promise<void> {
    const call = { callId: randomUUID(), toolName: 'web_search' };
    await this.#report('tool_call', { ...call, arguments: { query: 'tidal power' } });
    if (works) await this.#report('tool_response', { ...call, durationMs: 320, result: '1 source' });
    else await this.#report('tool_error', { ...call, durationMs: 5_000, error: 'upstream timeout' }, 'error');
  }

  async #report(
    eventType: string,
    payload: Record<string, unknown>,
    severity: 'info' | 'error' = 'info',
  ): Promise<void> {
    const event = {
      id: randomUUID(),
      sessionId: this.sessionId,
      agentId: this.#agentId,
      eventType,
      severity,
      payload,
      timestamp: new Date().toISOString(),
    };
    await this.#client.ingestEvents({ body: { events: [event] } });
  }
}
