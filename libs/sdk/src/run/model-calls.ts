import type { AgentMessage, LlmResponse } from '../wire/model.ts';
import { AgentStopped } from './agent-stopped.ts';
import { RunMessageLog } from './message-log.ts';
import { OpenCalls } from './open-calls.ts';
import type { RunBreaker } from './run-breaker.ts';
import type { LlmCallOptions } from './run-config.ts';
import { answerMessage, decisionData, llmData } from './run-events.ts';
import type { RunQuestions } from './run-questions.ts';
import type { RunStory } from './run-story.ts';

export interface ModelCallsDependencies {
  readonly story: RunStory;
  readonly breaker: RunBreaker;
  readonly questions: RunQuestions;
  readonly newId: () => string;
}

/** Under which open model calls are kept: they have no name. */
const MODEL = '';
const NO_TOOL = { toolName: '', toolTags: [], args: {}, oversized: false } as const;

/** The hooks around model calls, and what lies between the two: the messages told, the open calls, their reservations. */
export class ModelCalls {
  readonly #tools: ModelCallsDependencies;
  readonly #messages = new RunMessageLog();
  readonly #calls = new OpenCalls();
  readonly #reservations = new Map<string, string>();

  constructor(tools: ModelCallsDependencies) {
    this.#tools = tools;
  }

  /** @throws AgentStopped if the call must not happen; TypeError if the estimate is no amount */
  async before<M extends AgentMessage>(messages: readonly M[], options: LlmCallOptions): Promise<M[]> {
    checkEstimate(options.estimate);
    const { story, questions, newId } = this.#tools;
    const cleaned = messages.map((message) => story.cleaned(message));
    for (const index of this.#messages.newOnes(messages, options.history)) {
      const message = cleaned[index];
      if (message !== undefined) story.tellMessage(message);
    }
    const { estimate, callId = newId() } = options;
    const decision = await questions.before({ phase: 'llm.before', callId, ...NO_TOOL, estimate });
    if (decision.verdict === 'ALLOW') this.#calls.begin(MODEL, callId);
    if (decision.reservationId !== undefined) this.#reservations.set(callId, decision.reservationId);
    if (decision.verdict === 'ALLOW' && decision.shadowed?.verdict !== 'BLOCK') return cleaned;
    story.tell('llm.decision', decisionData(decision, { name: '', tags: [] }, 0));
    if (decision.verdict === 'BLOCK') throw new AgentStopped(decision);
    return cleaned;
  }

  after(response: LlmResponse): void {
    const { story, breaker, questions, newId } = this.#tools;
    const callId = this.#calls.finish(MODEL, response.callId) ?? newId();
    questions.used(response.usage?.inputTokens ?? 0, response.usage?.outputTokens ?? 0);
    breaker.modelAnswered(response, callId);
    story.tell('llm.result', llmData(response, callId, this.#reservations.get(callId)) as Record<string, unknown>);
    this.#reservations.delete(callId);
    if (response.error !== undefined && response.content.length === 0) return;
    this.#messages.remember({ role: 'assistant', content: rememberedContent(response) });
    story.tellMessage(story.cleaned(answerMessage(response)));
  }
}

/** A budget cannot hold what is no amount, and the server would refuse the question. @throws TypeError */
function checkEstimate(estimate: LlmCallOptions['estimate']): void {
  if (estimate === undefined) return;
  for (const member of ['tokens', 'costUsd'] as const) {
    const amount: unknown = estimate[member];
    if (typeof amount === 'number' && Number.isFinite(amount) && amount >= 0) continue;
    throw new TypeError(`AgentLens: estimate.${member} must be 0 or a positive number, not ${String(amount)}`);
  }
}

function rememberedContent(response: LlmResponse): unknown {
  return response.content.length > 0 ? response.content : (response.outputText ?? '');
}
