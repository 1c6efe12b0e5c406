import { TOKENS, type Turn } from '../src/driver.ts';
import { Script } from '../src/script.ts';

type MockClass = new (settings: { modelId?: string; doGenerate: unknown; doStream: unknown }) => unknown;
export type AiVersion = 'v2' | 'v3' | 'v4';

const FLAT = { inputTokens: TOKENS.input, outputTokens: TOKENS.output, totalTokens: TOKENS.input + TOKENS.output };
const NESTED = {
  inputTokens: { total: TOKENS.input, noCache: TOKENS.input, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: TOKENS.output, text: TOKENS.output, reasoning: 0 },
};

/** The mock models of the AI SDK, answering from one script. */
export class ScriptedAiModels {
  readonly script: Script;
  readonly #Mock: MockClass;
  readonly #version: AiVersion;

  constructor(Mock: unknown, version: AiVersion, turns: readonly Turn[]) {
    this.#Mock = Mock as MockClass;
    this.#version = version;
    this.script = new Script(turns);
  }

  model(modelId = 'scripted'): unknown {
    return new this.#Mock({
      modelId,
      doGenerate: async ({ prompt }: { prompt: unknown }) => {
        const { content, calls } = this.#answer(prompt);
        return { content, finishReason: this.#finish(calls), usage: this.#usage, warnings: [] };
      },
      doStream: async ({ prompt }: { prompt: unknown }) => {
        const { content, calls } = this.#answer(prompt);
        const chunks = [
          { type: 'stream-start', warnings: [] },
          ...content.flatMap((part, index) => this.#chunks(part, String(index))),
          { type: 'finish', finishReason: this.#finish(calls), usage: this.#usage },
        ];
        return { stream: ReadableStream.from(chunks) };
      },
    });
  }

  get #usage() {
    return this.#version === 'v2' ? FLAT : NESTED;
  }

  #finish(calls: boolean): unknown {
    const unified = calls ? 'tool-calls' : 'stop';
    return this.#version === 'v2' ? unified : { unified, raw: undefined };
  }

  #answer(prompt: unknown) {
    const turn = this.script.next(timeless(prompt));
    const content = turn.flatMap((part): Record<string, unknown>[] => {
      if (typeof part === 'string') return [{ type: 'text', text: part }];
      const { id: toolCallId, tool: toolName, args, providerResult: result } = part;
      const call = { type: 'tool-call', toolCallId, toolName, input: JSON.stringify(args) };
      if (result === undefined) return [call];
      const ran = { providerExecuted: true, dynamic: true };
      return [
        { ...call, ...ran },
        { type: 'tool-result', toolCallId, toolName, result, ...ran },
      ];
    });
    return { content, calls: turn.some((part) => typeof part !== 'string' && part.providerResult === undefined) };
  }

  #chunks(part: Record<string, unknown>, id: string): Record<string, unknown>[] {
    if (part.type !== 'text') return [part];
    return [
      { type: 'text-start', id },
      { type: 'text-delta', id, delta: part.text },
      { type: 'text-end', id },
    ];
  }
}

/** Without when a message was made, which is another time in another run. */
function timeless(prompt: unknown): string {
  return JSON.stringify(prompt, (key, value: unknown) => (key === 'createdAt' ? undefined : value));
}
