import { isRecord } from '../wire/decision.ts';
import type { AgentMessage, LlmResponse, ModelInfo } from '../wire/model.ts';
import { type ModelCallFacts, readMessage, readModelResponse, type UnreadPart } from '../wire/model-response.ts';
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
  /** The run's, for answers that name none. */
  readonly model: ModelInfo | undefined;
  /** Tells the programmer something, once. */
  readonly warnOnce: (message: string) => void;
}

/** Under which open model calls are kept: they have no name. */
const MODEL = '';
const UNREAD: Readonly<Record<UnreadPart, string>> = {
  response: 'did not understand what it was given, so the call counts without tokens; give it the answer of the model',
  content: 'did not understand the content of an answer, so it is not recorded; give it text or a list of parts',
  usage:
    'did not understand the usage of an answer, so its tokens are not counted; give it inputTokens and outputTokens',
  model: 'was not told the model of an answer, so nothing can price it; give it `model`',
};
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

  /** @throws AgentStopped if the call must not happen */
  async before<M extends AgentMessage>(given: readonly M[], options: LlmCallOptions): Promise<M[]> {
    const { story, questions, newId } = this.#tools;
    const messages = this.#messagesOf(given);
    const cleaned = messages.map((message) => story.cleaned(message));
    for (const index of this.#messages.newOnes(messages, options.history)) {
      const message = cleaned[index];
      if (message !== undefined) story.tellMessage(message);
    }
    const { estimate, callId = newId() } = options;
    const whole = estimate == null ? undefined : { tokens: estimate.tokens ?? 0, costUsd: estimate.costUsd ?? 0 };
    const decision = await questions.before({ phase: 'llm.before', callId, ...NO_TOOL, estimate: whole });
    if (decision.verdict === 'ALLOW') this.#calls.begin(MODEL, callId);
    if (decision.reservationId !== undefined) this.#reservations.set(callId, decision.reservationId);
    if (decision.verdict === 'ALLOW' && decision.shadowed?.verdict !== 'BLOCK') return cleaned;
    story.tell('llm.decision', decisionData(decision, { name: '', tags: [] }, 0));
    if (decision.verdict === 'BLOCK') throw new AgentStopped(decision);
    return cleaned;
  }

  after(given: unknown, about: ModelCallFacts): void {
    const { story, breaker, questions, newId, model, warnOnce } = this.#tools;
    const { response, unread } = readModelResponse(given, about, model);
    for (const part of unread) warnOnce(`afterLlm ${UNREAD[part]} (docs/sdk/hooks.md)`);
    const callId = this.#calls.finish(MODEL, response.callId) ?? newId();
    questions.used(response.usage?.inputTokens ?? 0, response.usage?.outputTokens ?? 0);
    breaker.modelAnswered(response, callId);
    story.tell('llm.result', llmData(response, callId, this.#reservations.get(callId)) as Record<string, unknown>);
    this.#reservations.delete(callId);
    if (response.error !== undefined && response.content.length === 0) return;
    this.#messages.remember({ role: 'assistant', content: rememberedContent(response) });
    story.tellMessage(story.cleaned(answerMessage(response)));
  }

  /** A text stands for one message of the user's. What is no list of messages is asked about without them. */
  #messagesOf<M extends AgentMessage>(given: readonly M[]): readonly M[] {
    const list: unknown = typeof given === 'string' ? [given] : given;
    if (Array.isArray(list))
      return list.map((message: unknown) => (isRecord(message) ? message : readMessage(message)) as M);
    this.#tools.warnOnce('beforeLlm was given no list of messages, so none is recorded (docs/sdk/hooks.md)');
    return [];
  }
}

function rememberedContent(response: LlmResponse): unknown {
  return response.content.length > 0 ? response.content : (response.outputText ?? '');
}
