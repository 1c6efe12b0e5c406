import type { Run } from '../run/run.ts';
import type { AgentMessage, LlmResponse, ModelInfo } from '../wire/model.ts';

/** One model call from its decision to its response. It is reported exactly once. */
export class ModelCall<M extends AgentMessage = AgentMessage> {
  /** The messages to send, by index. */
  readonly messages: readonly M[];
  readonly #run: Run;
  readonly #callId: string;
  readonly #startedAt: number;
  readonly #ended: () => void;
  #reported = false;

  private constructor(run: Run, messages: readonly M[], callId: string, ended: () => void) {
    this.messages = messages;
    this.#run = run;
    this.#callId = callId;
    this.#startedAt = run.elapsed();
    this.#ended = ended;
  }

  /** @throws AgentStopped if the call is refused */
  static async begin<M extends AgentMessage>(
    run: Run,
    messages: readonly M[],
    ended: () => void,
  ): Promise<ModelCall<M>> {
    const callId = run.newCallId();
    return new ModelCall(run, await run.beforeLlm(messages, { callId }), callId, ended);
  }

  async answered(response: LlmResponse): Promise<void> {
    if (this.#reported) return;
    this.#reported = true;
    this.#ended();
    const durationMs = this.#run.elapsed() - this.#startedAt;
    await this.#run.afterLlm({ durationMs, ...response, callId: this.#callId });
  }

  failed(model: ModelInfo, error: unknown): Promise<void> {
    return this.answered({ content: [], model, error: error ?? new Error('the model call failed') });
  }
}
