import type { LlmResponse } from '@agentlens/sdk';
import { responseOf } from './model-response.ts';
import type { ApiEvent, ContentBlock, Usage } from './shapes.ts';

/**
 * A model's answer, gathered from the events of its stream. The framework's own messages will not do: each content block
 * is one, and all of them carry the usage of the beginning.
 */
export class StreamedAnswer {
  readonly #blocks: ContentBlock[] = [];
  readonly #json: string[] = [];
  #model = 'unknown';
  #usage: Usage = {};

  take({ type, index = 0, message, content_block: block, delta, usage }: ApiEvent): void {
    if (type === 'message_start') {
      this.#model = message?.model ?? this.#model;
      this.#usage = message?.usage ?? {};
    }
    if (type === 'content_block_start' && block !== undefined) this.#blocks[index] = block;
    if (type === 'content_block_delta') this.#grow(index, delta);
    if (type === 'message_delta') this.#usage = { ...this.#usage, ...usage };
  }

  get response(): LlmResponse {
    const blocks = this.#blocks.map((block, index) =>
      block.type === 'tool_use' ? { ...block, input: this.#input(block, index) } : block,
    );
    return responseOf(this.#model, this.#usage, blocks);
  }

  /** Tools that ran at the provider: each call with its result. */
  get providerTools(): {
    readonly id?: string;
    readonly name: string;
    readonly args: unknown;
    readonly result: unknown;
  }[] {
    return this.#blocks.flatMap((block, index) => {
      if (block.type !== 'server_tool_use') return [];
      const result = this.#blocks.find(({ tool_use_id }) => tool_use_id !== undefined && tool_use_id === block.id);
      return [{ id: block.id, name: block.name ?? '', args: this.#input(block, index), result: result?.content }];
    });
  }

  #grow(index: number, delta: ApiEvent['delta']): void {
    const block = this.#blocks[index];
    if (block === undefined || delta === undefined) return;
    if (delta.text !== undefined) this.#blocks[index] = { ...block, text: (block.text ?? '') + delta.text };
    if (delta.partial_json !== undefined) this.#json[index] = (this.#json[index] ?? '') + delta.partial_json;
  }

  #input({ input }: ContentBlock, index: number): unknown {
    const json = this.#json[index];
    if (json === undefined || json === '') return input ?? {};
    try {
      return JSON.parse(json);
    } catch {
      // Cut off by its limit of tokens: the framework tells the model so.
      return json;
    }
  }
}
