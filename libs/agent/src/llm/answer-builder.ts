import { isPlainObject, type Json, parseJson } from '../core/json.ts';
import type { ContentBlock } from '../core/message.ts';
import type { ModelPart, ModelResponse } from './llm-client.ts';
import { cutOff } from './model-error.ts';

interface OpenText {
  readonly type: 'text' | 'thinking';
  text: string;
  signature: string;
  opaque: Json | undefined;
}

interface OpenCall {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  json: string;
  opaque: Json | undefined;
}

/** Assembles the pieces of a streamed answer, each block under its provider's key. */
export class AnswerBuilder {
  readonly #blocks = new Map<string, OpenText | OpenCall>();

  text(key: string, text: string): void {
    this.#text(key, 'text').text += text;
  }

  thinking(key: string, text: string, extra: { readonly signature?: string; readonly opaque?: Json } = {}): void {
    const block = this.#text(key, 'thinking');
    block.text += text;
    block.signature += extra.signature ?? '';
    if (extra.opaque !== undefined) block.opaque = extra.opaque;
  }

  call(key: string, id: string, name: string, opaque?: Json): void {
    this.#blocks.set(key, { type: 'tool_use', id, name, json: '', opaque });
  }

  /** Returns the id of a started call, or undefined if it was not started. */
  input(key: string, json: string): string | undefined {
    const block = this.#blocks.get(key);
    if (block?.type !== 'tool_use') return undefined;
    block.json += json;
    return block.id;
  }

  has(key: string): boolean {
    return this.#blocks.has(key);
  }

  get hasCalls(): boolean {
    return [...this.#blocks.values()].some(({ type }) => type === 'tool_use');
  }

  content(): ContentBlock[] {
    return [...this.#blocks.values()].flatMap((block): ContentBlock[] => {
      if (block.type === 'tool_use') return [callOf(block)];
      const { text, signature, opaque } = block;
      if (block.type === 'text') return text === '' ? [] : [{ type: 'text', text }];
      if (text === '' && signature === '' && opaque === undefined) return [];
      return [
        {
          type: 'thinking',
          thinking: text,
          ...(signature === '' ? {} : { signature }),
          ...(opaque === undefined ? {} : { opaque }),
        },
      ];
    });
  }

  #text(key: string, type: 'text' | 'thinking'): OpenText {
    const block = this.#blocks.get(key);
    if (block !== undefined && block.type !== 'tool_use') return block;
    const made: OpenText = { type, text: '', signature: '', opaque: undefined };
    this.#blocks.set(key, made);
    return made;
  }
}

function callOf({ id, name, json, opaque }: OpenCall): ContentBlock {
  const more = opaque === undefined ? {} : { opaque };
  if (json.trim() === '') return { type: 'tool_use', id, name, input: {}, ...more };
  const input = parseJson(json);
  // An input must be an object; anything else is returned to the model as an error.
  if (!isPlainObject(input)) return { type: 'tool_use', id, name, input: {}, malformed: json.slice(0, 2_000), ...more };
  return { type: 'tool_use', id, name, input: input as Json, ...more };
}

/** The complete answer of a stream. @throws AgentError `model_cut_off` if there is none */
export async function responseOf(provider: string, parts: AsyncIterable<ModelPart>): Promise<ModelResponse> {
  let response: ModelResponse | undefined;
  for await (const part of parts) if (part.type === 'response') response = part.response;
  if (response === undefined) throw cutOff(provider, 'the stream ended without an answer');
  return response;
}
