import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { agentSays } from './screen.mjs';

const STEP_MS = 450;
const MOST_TRIES = 12;
const COST_USD = { 'gpt-4o': 0.06, 'gpt-4o-mini': 0.004 };

/**
 * A small agent with a flaw that real ones have: its search tool is down, and instead of giving up it asks its model what to
 * do and tries again, paying each time. It obeys the platform: before each step it looks what it was told.
 */
export class ResearchAgent {
  #client;
  #agentId;
  #sessionId;
  #model = 'gpt-4o';

  constructor(client, agentId) {
    this.#client = client;
    this.#agentId = agentId;
    this.#sessionId = `run-${randomUUID().slice(0, 8)}`;
  }

  get sessionId() {
    return this.#sessionId;
  }

  /** @returns how many tries it made, and why it stopped */
  async run() {
    agentSays('starts: "find three sources on tidal power"');
    await this.#report('session_started', { agentName: 'research-agent' });
    await this.#search(true);
    agentSays('one source found. Its search tool goes down now, and it will not give up ...');
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      const pause = await this.#obey();
      if (pause !== null) {
        agentSays(`is paused: "${pause}". It stops.`);
        await this.#report('session_ended', { reason: 'manual', summary: 'paused by a guardrail' });
        return { tries: tries - 1, paused: true };
      }
      await this.#think();
      await this.#search(false);
      await delay(STEP_MS);
    }
    await this.#report('session_ended', { reason: 'error' });
    return { tries: MOST_TRIES, paused: false };
  }

  /** Takes the model it is given. @returns why it is paused, or null */
  async #obey() {
    const { status, body } = await this.#client.call('GET', `/api/agents/${this.#agentId}`);
    if (status !== 200) return null;
    if (body.modelOverride && body.modelOverride !== this.#model) {
      agentSays(`is told to use ${body.modelOverride} from now on`);
      this.#model = body.modelOverride;
    }
    return body.pausedAt ? (body.pauseReason ?? 'no reason given') : null;
  }

  async #think() {
    const call = { callId: randomUUID(), provider: 'openai', model: this.#model };
    await this.#report('llm_call', { ...call, messages: [{ role: 'user', content: 'The search failed. What now?' }] });
    await this.#report('llm_response', {
      ...call,
      completion: 'Try the search again.',
      finishReason: 'stop',
      usage: { inputTokens: 21_000, outputTokens: 800, totalTokens: 21_800 },
      costUsd: COST_USD[this.#model],
      latencyMs: 2_100,
    });
  }

  async #search(works) {
    const call = { callId: randomUUID(), toolName: 'web_search' };
    await this.#report('tool_call', { ...call, arguments: { query: 'tidal power' } });
    if (works) await this.#report('tool_response', { ...call, durationMs: 320, result: '1 source' });
    else await this.#report('tool_error', { ...call, durationMs: 5_000, error: 'upstream timeout' }, 'error');
  }

  #report(eventType, payload, severity = 'info') {
    const event = {
      id: randomUUID(),
      sessionId: this.#sessionId,
      agentId: this.#agentId,
      eventType,
      severity,
      payload,
      timestamp: new Date().toISOString(),
    };
    return this.#client.must('POST', '/api/events', { events: [event] });
  }
}
