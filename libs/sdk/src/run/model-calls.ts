import { isRecord } from '../wire/decision.ts';
import type { AgentMessage, LlmResponse, ModelInfo } from '../wire/model.ts';
import { type ModelCallFacts, readMessage, readModelResponse, type UnreadPart } from '../wire/model-response.ts';
import { AgentStopped } from './agent-stopped.ts';
import { RunMessageLog } from './message-log.ts';
import { OpenCalls } from './open-calls.ts';
import type { RunBreaker } from './run-breaker.ts';
import type { AdapterInfo, LlmCallOptions } from './run-config.ts';
import { answerMessage, decisionData, llmData } from './run-events.ts';
import type { RunQuestions } from './run-questions.ts';
import type { RunStory } from './run-story.ts';

export interface ModelCallsDependencies {
  readonly story: RunStory;
  readonly breaker: RunBreaker;
  readonly questions: RunQuestions;
  readonly newId: () => string;
  /** The run's model, for answers that do not name one. */
  readonly model: ModelInfo | undefined;
  /** The adapter that makes the calls, if one does. */
  readonly adapter: AdapterInfo | undefined;
  /** Logs a warning for the developer once. */
  readonly warnOnce: (message: string) => void;
}

/** Key of open model calls, which have no name. */
const MODEL = '';
const UNREAD: Readonly<Record<UnreadPart, string>> = {
  response: 'could not read the response, so the call counts without tokens; pass the response of the model',
  content: 'could not read the content of a response, so it is not recorded; pass text or a list of parts',
  usage: 'could not read the usage of a response, so its tokens are not counted; pass inputTokens and outputTokens',
  model: 'got a response without its model, so it cannot be priced; pass `model`',
};
const NO_TOOL = { toolName: '', toolTags: [], args: {}, oversized: false } as const;

/** Hooks around model calls and the state between them: reported messages, open calls and their reservations. */
export class ModelCalls {
  readonly #tools: ModelCallsDependencies;
  readonly #messages = new RunMessageLog();
  readonly #calls = new OpenCalls();
  readonly #reservations = new Map<string, string>();

  constructor(tools: ModelCallsDependencies) {
    this.#tools = tools;
  }

  /** @throws AgentStopped if the call is refused */
  async before<M extends AgentMessage>(given: readonly M[], options: LlmCallOptions): Promise<M[]> {
    const { story, questions, newId } = this.#tools;
    const messages = this.#messagesOf(given);
    const cleaned = messages.map((message) => story.cleaned(message));
    for (const index of this.#messages.newOnes(messages, options.history)) {
      const message = cleaned[index];
      if (message !== undefined) story.recordMessage(message);
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
    const { story, breaker, questions, newId, model, warnOnce, adapter } = this.#tools;
    const { response, unread } = readModelResponse(given, about, model);
    for (const part of unread) warnOnce(`afterLlm ${UNREAD[part]} (docs/sdk/hooks.md)`);
    const callId = this.#calls.finish(MODEL, response.callId) ?? newId();
    questions.used(response.usage?.inputTokens ?? 0, response.usage?.outputTokens ?? 0);
    breaker.modelAnswered(response, callId);
    const told = { reservationId: this.#reservations.get(callId), adapter };
    story.tell('llm.result', llmData(response, callId, told) as Record<string, unknown>);
    this.#reservations.delete(callId);
    if (response.error !== undefined && response.content.length === 0) return;
    this.#messages.remember({ role: 'assistant', content: rememberedContent(response) });
    story.recordMessage(story.cleaned(answerMessage(response)));
  }

  /** A string counts as one user message. Input that is not a list of messages is decided without messages. */
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
