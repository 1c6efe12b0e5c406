import type { ProviderFrame } from '../frame-scanner.ts';
import { isJsonObject, type ProviderJson } from '../model-usage.ts';
import {
  type AnsweredCall,
  listObjects,
  parseArgs,
  readString,
  type StreamedCalls,
  type ToolVerdicts,
  writeEvent,
} from './tool-call.ts';

/** Words of the frames that can say something about tool calls, or that the answer is complete. */
const WORDS = /"tool_use"|input_json_delta|message_stop/;

interface Draft {
  readonly id: string | undefined;
  readonly name: string;
  /** The arguments of the first frame, if it has them already. */
  readonly input: unknown;
  json: string;
}

/** Tool calls of Anthropic's messages: blocks `tool_use`. Tools that the provider runs have other types. */
export class MessagesCalls implements StreamedCalls {
  readonly #drafts = new Map<number, Draft>();
  isComplete = false;

  get count(): number {
    return this.#drafts.size;
  }

  get calls(): readonly AnsweredCall[] {
    return Array.from(this.#drafts, ([index, { id, name, input, json }]) => ({
      ...{ key: String(index), id, name },
      args: json === '' ? (input ?? {}) : parseArgs(json),
      argsChars: json === '' ? JSON.stringify(input ?? {}).length : json.length,
    }));
  }

  read(frame: ProviderFrame): readonly string[] {
    if (frame.data === undefined || !WORDS.test(frame.data)) return [];
    const { object } = frame;
    if (object === undefined) return [];
    const { type, index, content_block: block, delta } = object;
    if (type === 'message_stop') this.isComplete = true;
    if (typeof index !== 'number') return [];
    if (type === 'content_block_start' && isJsonObject(block) && block.type === 'tool_use') {
      const name = readString(block.name) ?? '';
      this.#drafts.set(index, { id: readString(block.id), name, input: block.input, json: '' });
      return [name];
    }
    const draft = this.#drafts.get(index);
    if (draft !== undefined && isJsonObject(delta) && typeof delta.partial_json === 'string') {
      draft.json += delta.partial_json;
    }
    return [];
  }

  rewrite(frames: readonly ProviderFrame[], verdicts: ToolVerdicts): Uint8Array[] {
    return frames.flatMap((frame) => this.#rewriteFrame(frame, verdicts));
  }

  #rewriteFrame({ raw, object }: ProviderFrame, verdicts: ToolVerdicts): Uint8Array[] {
    if (object === undefined) return [raw];
    const { type, index } = object;
    if (type === 'message_delta') return [this.#rewriteEnd(raw, object, verdicts)];
    const verdict = typeof index === 'number' ? verdicts.get(String(index)) : undefined;
    if (verdict === undefined || verdict.kind === 'allow') return [raw];
    if (type !== 'content_block_start') return [];
    if (verdict.kind === 'block') return writeTextBlock(index, verdict.text);
    const block = isJsonObject(object.content_block) ? object.content_block : {};
    const delta = { type: 'input_json_delta', partial_json: JSON.stringify(verdict.args) };
    return [
      writeEvent(type, { ...object, content_block: { ...block, input: {} } }),
      writeEvent('content_block_delta', { type: 'content_block_delta', index, delta }),
      writeEvent('content_block_stop', { type: 'content_block_stop', index }),
    ];
  }

  /** An answer that ends with "tool_use" and has no tool call makes clients ask again. */
  #rewriteEnd(raw: Uint8Array, object: ProviderJson, verdicts: ToolVerdicts): Uint8Array {
    const { delta } = object;
    if (!isJsonObject(delta) || delta.stop_reason !== 'tool_use' || hasCalls(this.calls, verdicts)) return raw;
    return writeEvent('message_delta', { ...object, delta: { ...delta, stop_reason: 'end_turn' } });
  }
}

function writeTextBlock(index: unknown, text: string): Uint8Array[] {
  const event = (type: string, rest: object) => writeEvent(type, { type, index, ...rest });
  return [
    event('content_block_start', { content_block: { type: 'text', text: '' } }),
    event('content_block_delta', { delta: { type: 'text_delta', text } }),
    event('content_block_stop', {}),
  ];
}

/** Whether a call is left for the client. */
export function hasCalls(calls: readonly AnsweredCall[], verdicts: ToolVerdicts): boolean {
  return calls.some(({ key }) => verdicts.get(key)?.kind !== 'block');
}

/** The calls of a whole message. */
export function readMessageCalls(message: ProviderJson): AnsweredCall[] {
  return listObjects(message.content).flatMap((block, at) => {
    if (block.type !== 'tool_use') return [];
    const args = block.input ?? {};
    const argsChars = JSON.stringify(args).length;
    return [{ key: String(at), id: readString(block.id), name: readString(block.name) ?? '', args, argsChars }];
  });
}

export function rewriteMessage(message: ProviderJson, verdicts: ToolVerdicts): ProviderJson {
  const content = listObjects(message.content).map((block, at) => {
    const verdict = verdicts.get(String(at));
    if (verdict?.kind === 'block') return { type: 'text', text: verdict.text };
    return verdict?.kind === 'change' ? { ...block, input: verdict.args } : block;
  });
  const isLeft = hasCalls(readMessageCalls(message), verdicts);
  const ends = message.stop_reason === 'tool_use' && !isLeft ? { stop_reason: 'end_turn' } : {};
  return { ...message, content, ...ends };
}
