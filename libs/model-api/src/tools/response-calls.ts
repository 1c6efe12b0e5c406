import type { ProviderFrame } from '../frame-scanner.ts';
import { isJsonObject, type ProviderJson } from '../model-usage.ts';
import {
  type AnsweredCall,
  listObjects,
  parseArgs,
  readString,
  type StreamedCalls,
  type ToolVerdict,
  type ToolVerdicts,
  writeEvent,
} from './tool-call.ts';

/** Items that ask the client to run something, and the member with the arguments. Other calls run at the provider. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  function_call: 'arguments',
  custom_tool_call: 'input',
  local_shell_call: 'action',
  shell_call: 'action',
  apply_patch_call: 'operation',
  computer_call: 'action',
};
const ENDS = new Set<unknown>(['response.completed', 'response.incomplete', 'response.failed']);

function readItem(key: string, item: ProviderJson): AnsweredCall | undefined {
  const type = String(item.type);
  const member = Object.hasOwn(ARGUMENTS, type) ? ARGUMENTS[type] : undefined;
  if (member === undefined) return undefined;
  const given = item[member];
  const text = typeof given === 'string' ? given : JSON.stringify(given ?? {});
  return {
    key,
    id: readString(item.call_id) ?? readString(item.id),
    name: readString(item.name) ?? type.replace(/_call$/, ''),
    args: type === 'function_call' ? parseArgs(text) : (given ?? {}),
    argsChars: text.length,
  };
}

function changeItem(item: ProviderJson, args: unknown): ProviderJson {
  const member = ARGUMENTS[String(item.type)] ?? 'arguments';
  const isText = item.type === 'function_call' || (item.type === 'custom_tool_call' && typeof args !== 'string');
  return { ...item, [member]: isText ? JSON.stringify(args) : args };
}

/** The message that takes the place of a blocked call. */
function writeMessage(item: ProviderJson, text: string): ProviderJson {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  return { id: `msg_${String(item.id)}`, type: 'message', status: 'completed', role: 'assistant', content };
}

function rewriteItem(item: ProviderJson, verdict: ToolVerdict | undefined): ProviderJson {
  if (verdict?.kind === 'block') return writeMessage(item, verdict.text);
  return verdict?.kind === 'change' ? changeItem(item, verdict.args) : item;
}

/** Tool calls of Responses: items of the output, by their place in it. */
export class ResponseCalls implements StreamedCalls {
  readonly #items = new Map<number, ProviderJson>();
  isComplete = false;

  get count(): number {
    return this.#items.size;
  }

  get calls(): readonly AnsweredCall[] {
    return Array.from(this.#items, ([place, item]) => readItem(String(place), item)).filter(
      (call) => call !== undefined,
    );
  }

  read(frame: ProviderFrame): readonly string[] {
    if (frame.data === undefined || !/_call"|response\.(completed|incomplete|failed)/.test(frame.data)) return [];
    const { type, item, output_index: place, response } = frame.object ?? {};
    if (ENDS.has(type)) {
      this.isComplete = true;
      // Some servers name an item only here.
      const output = isJsonObject(response) ? listObjects(response.output) : [];
      return output.flatMap((one, at) => (this.#items.has(at) ? [] : this.#note(at, one)));
    }
    return typeof place === 'number' && isJsonObject(item) ? this.#note(place, item) : [];
  }

  /** Returns the name of a call that is new. */
  #note(place: number, item: ProviderJson): string[] {
    const call = readItem(String(place), item);
    if (call === undefined) return [];
    const isKnown = this.#items.has(place);
    this.#items.set(place, item);
    return isKnown ? [] : [call.name];
  }

  /** From the first changed frame on, the events are numbered again. */
  rewrite(frames: readonly ProviderFrame[], verdicts: ToolVerdicts): Uint8Array[] {
    const [first] = frames.flatMap(({ object }) =>
      typeof object?.sequence_number === 'number' ? [object.sequence_number] : [],
    );
    let number = first;
    const write = (event: ProviderJson) => {
      const numbered = number === undefined ? event : { ...event, sequence_number: number };
      number = number === undefined ? undefined : number + 1;
      return writeEvent(String(event.type), numbered);
    };
    return frames.flatMap(({ raw, object }) =>
      object === undefined ? [raw] : this.#rewriteEvent(object, verdicts).map(write),
    );
  }

  #rewriteEvent(event: ProviderJson, verdicts: ToolVerdicts): ProviderJson[] {
    const { type, output_index: place, item } = event;
    if (isJsonObject(event.response)) return [{ ...event, response: rewriteResponse(event.response, verdicts) }];
    const verdict = typeof place === 'number' ? verdicts.get(String(place)) : undefined;
    if (verdict === undefined || verdict.kind === 'allow') return [event];
    if (!isJsonObject(item)) return [];
    if (verdict.kind === 'block') {
      return type === 'response.output_item.done' ? writeMessageEvents(place, writeMessage(item, verdict.text)) : [];
    }
    const changed = changeItem(item, verdict.args);
    if (type !== 'response.output_item.done' || item.type !== 'function_call') return [{ ...event, item: changed }];
    const its = { item_id: item.id, output_index: place };
    const { arguments: text, name } = changed;
    return [
      { type: 'response.function_call_arguments.delta', ...its, delta: text },
      { type: 'response.function_call_arguments.done', ...its, name, arguments: text },
      { ...event, item: changed },
    ];
  }
}

function writeMessageEvents(place: unknown, message: ProviderJson): ProviderJson[] {
  const [part = {}] = listObjects(message.content);
  const its = { item_id: message.id, output_index: place, content_index: 0 };
  const { text } = part;
  return [
    {
      type: 'response.output_item.added',
      output_index: place,
      item: { ...message, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...its, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...its, delta: text, logprobs: [] },
    { type: 'response.output_text.done', ...its, text, logprobs: [] },
    { type: 'response.content_part.done', ...its, part },
    { type: 'response.output_item.done', output_index: place, item: message },
  ];
}

/** The calls of a whole response. */
export function readResponseCalls(response: ProviderJson): AnsweredCall[] {
  return listObjects(response.output)
    .map((item, place) => readItem(String(place), item))
    .filter((call) => call !== undefined);
}

export function rewriteResponse(response: ProviderJson, verdicts: ToolVerdicts): ProviderJson {
  if (!Array.isArray(response.output)) return response;
  const output = listObjects(response.output).map((item, place) => rewriteItem(item, verdicts.get(String(place))));
  return { ...response, output };
}

/** The provider checks what it has encrypted against what comes back, so that calls beside it cannot be changed. */
export function hasEncryptedReasoning(response: ProviderJson): boolean {
  return listObjects(response.output).some(({ encrypted_content: content }) => readString(content) !== undefined);
}
