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
  writeData,
} from './tool-call.ts';

const WORDS = /"tool_calls"|"function_call"|"finish_reason"\s*:\s*"/;
/** The index of `function_call`, the earlier form of a single call. */
const SINGLE = 'single';

interface Draft {
  id: string | undefined;
  name: string;
  args: string;
  isText: boolean;
}

/** A call in a delta or a message: a function with JSON text, or a custom tool with any text. */
function readPiece(entry: ProviderJson) {
  const custom = isJsonObject(entry.custom) ? entry.custom : undefined;
  const called = custom ?? (isJsonObject(entry.function) ? entry.function : {});
  const args = custom === undefined ? called.arguments : called.input;
  const name = readString(called.name);
  return { id: readString(entry.id), name, args: typeof args === 'string' ? args : '', isText: custom !== undefined };
}

function toCall(key: string, { id, name, args, isText }: Draft): AnsweredCall {
  return { key, id, name, args: isText ? args : parseArgs(args), argsChars: args.length };
}

/** Sets the arguments of a call in the form of its kind. */
function changePiece(entry: ProviderJson, args: unknown): ProviderJson {
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  if (isJsonObject(entry.custom)) return { ...entry, custom: { ...entry.custom, input: text } };
  const called = isJsonObject(entry.function) ? entry.function : {};
  return { ...entry, function: { ...called, arguments: JSON.stringify(args) } };
}

/** Tool calls of chat completions, also of several choices and in the earlier form. */
export class ChatCalls implements StreamedCalls {
  readonly #drafts = new Map<string, Draft>();
  /** The call that each index stands for now, and the call of each piece. */
  readonly #current = new Map<string, string>();
  readonly #keys = new WeakMap<ProviderJson, string>();
  readonly #finished = new Set<unknown>();
  #choices = new Set<unknown>();

  get count(): number {
    return this.#drafts.size;
  }

  get calls(): readonly AnsweredCall[] {
    return Array.from(this.#drafts, ([key, draft]) => toCall(key, draft));
  }

  /** Some servers leave out `[DONE]`. */
  get isComplete(): boolean {
    return this.#finished.has('[DONE]') || [...this.#choices].every((index) => this.#finished.has(index));
  }

  read(frame: ProviderFrame): readonly string[] {
    const { data } = frame;
    if (data === '[DONE]') this.#finished.add(data);
    if (data === undefined || !WORDS.test(data)) return [];
    return listObjects(frame.object?.choices).flatMap((choice) => {
      if (readString(choice.finish_reason) !== undefined) this.#finished.add(choice.index);
      return isJsonObject(choice.delta) ? this.#readDelta(choice.index, choice.delta) : [];
    });
  }

  #readDelta(choice: unknown, delta: ProviderJson): string[] {
    const single = isJsonObject(delta.function_call) ? [{ index: SINGLE, function: delta.function_call }] : [];
    return [...listObjects(delta.tool_calls), ...single].flatMap((entry: ProviderJson) => {
      this.#choices.add(choice);
      const { id, name, args, isText } = readPiece(entry);
      const key = this.#findKey(nameCall(choice, entry.index), id, name);
      this.#keys.set(entry, key);
      const draft = this.#drafts.get(key);
      if (draft === undefined) {
        this.#drafts.set(key, { id, name: name ?? '', args, isText });
        return [name ?? ''];
      }
      draft.id ??= id;
      draft.args += args;
      if (name === undefined || draft.name !== '') return [];
      draft.name = name;
      return [name];
    });
  }

  /** Some servers give every call the index 0, or none: another id with a name is another call. */
  #findKey(place: string, id: string | undefined, name: string | undefined): string {
    const current = this.#current.get(place) ?? place;
    const known = this.#drafts.get(current)?.id;
    const isSame = id === undefined || name === undefined || known === undefined || id === known;
    const key = isSame ? current : `${place}/${this.#drafts.size}`;
    this.#current.set(place, key);
    return key;
  }

  rewrite(frames: readonly ProviderFrame[], verdicts: ToolVerdicts): Uint8Array[] {
    const begun = new Set<string>();
    const places = this.#findPlaces(verdicts);
    return frames.flatMap(({ raw, data, object }) => {
      if (data === undefined || object === undefined || !WORDS.test(data)) return [raw];
      const choices = listObjects(object.choices).map((choice) => this.#rewriteChoice(choice, verdicts, places, begun));
      return choices.every(isEmpty) && (object.usage ?? null) === null ? [] : [writeData({ ...object, choices })];
    });
  }

  /** The index of each call that is left. Clients expect no gaps. */
  #findPlaces(verdicts: ToolVerdicts): ReadonlyMap<string, number> {
    const places = new Map<string, number>();
    const used = new Map<string, number>();
    for (const key of this.#drafts.keys()) {
      if (verdicts.get(key)?.kind === 'block' || key.endsWith(SINGLE)) continue;
      const [choice = ''] = key.split('/');
      const place = used.get(choice) ?? 0;
      places.set(key, place);
      used.set(choice, place + 1);
    }
    return places;
  }

  #rewriteChoice(
    choice: ProviderJson,
    verdicts: ToolVerdicts,
    places: ReadonlyMap<string, number>,
    begun: Set<string>,
  ): ProviderJson {
    const { tool_calls: calls, function_call: single, ...delta } = isJsonObject(choice.delta) ? choice.delta : {};
    const texts: string[] = [];
    const rewrite = (entry: ProviderJson) => {
      const key = this.#keys.get(entry) ?? nameCall(choice.index, entry.index);
      const isFirst = !begun.has(key);
      begun.add(key);
      const written = rewritePiece(entry, verdicts.get(key), isFirst, texts);
      return written.map((one) => (places.has(key) ? { ...one, index: places.get(key) } : one));
    };
    const left = listObjects(calls).flatMap(rewrite);
    const [leftSingle] = isJsonObject(single) ? rewrite({ index: SINGLE, function: single }) : [];
    const said = typeof delta.content === 'string' ? delta.content : '';
    return {
      ...choice,
      delta: {
        ...delta,
        ...(texts.length === 0 ? {} : { content: said + texts.join('\n') }),
        ...(left.length === 0 ? {} : { tool_calls: left }),
        ...(leftSingle === undefined ? {} : { function_call: leftSingle.function }),
      },
      finish_reason: endReason(choice, this.#isLeft(choice.index, verdicts)),
    };
  }

  #isLeft(choice: unknown, verdicts: ToolVerdicts): boolean {
    const start = `${writeIndex(choice)}/`;
    return [...this.#drafts.keys()].some((key) => key.startsWith(start) && verdicts.get(key)?.kind !== 'block');
  }
}

function nameCall(choice: unknown, index: unknown): string {
  return `${writeIndex(choice)}/${writeIndex(index)}`;
}

/** Some servers leave out the index of the only choice or call. */
function writeIndex(index: unknown): string {
  return typeof index === 'string' || typeof index === 'number' ? String(index) : '0';
}

/** A blocked call says so once; a changed one has all its arguments in its first piece. */
function rewritePiece(
  entry: ProviderJson,
  verdict: ToolVerdict | undefined,
  isFirst: boolean,
  texts: string[],
): ProviderJson[] {
  if (verdict === undefined || verdict.kind === 'allow') return [entry];
  if (!isFirst) return [];
  if (verdict.kind === 'change') return [changePiece(entry, verdict.args)];
  texts.push(verdict.text);
  return [];
}

function endReason({ finish_reason: reason }: ProviderJson, isLeft: boolean): unknown {
  return (reason === 'tool_calls' || reason === 'function_call') && !isLeft ? 'stop' : reason;
}

function isEmpty({ delta, finish_reason: reason }: ProviderJson): boolean {
  return (reason ?? null) === null && isJsonObject(delta) && Object.keys(delta).length === 0;
}

function listMessageCalls(choice: ProviderJson): { readonly key: string; readonly entry: ProviderJson }[] {
  const message = isJsonObject(choice.message) ? choice.message : {};
  const listed = listObjects(message.tool_calls).map((entry, at) => ({ key: nameCall(choice.index, at), entry }));
  if (!isJsonObject(message.function_call)) return listed;
  const entry = { function: message.function_call };
  return [...listed, { key: nameCall(choice.index, SINGLE), entry }];
}

/** The calls of a whole completion. */
export function readCompletionCalls(completion: ProviderJson): AnsweredCall[] {
  return listObjects(completion.choices)
    .flatMap(listMessageCalls)
    .map(({ key, entry }) => {
      const piece = readPiece(entry);
      return toCall(key, { ...piece, name: piece.name ?? '' });
    });
}

export function rewriteCompletion(completion: ProviderJson, verdicts: ToolVerdicts): ProviderJson {
  const choices = listObjects(completion.choices).map((choice) => {
    const { tool_calls: _, function_call: __, ...message } = isJsonObject(choice.message) ? choice.message : {};
    const texts: string[] = [];
    const left = listMessageCalls(choice).flatMap(({ key, entry }) =>
      rewritePiece(entry, verdicts.get(key), true, texts).map((one) => ({ isSingle: key.endsWith(SINGLE), one })),
    );
    const listed = left.filter(({ isSingle }) => !isSingle).map(({ one }) => one);
    const single = left.find(({ isSingle }) => isSingle)?.one.function;
    const said = readString(message.content);
    return {
      ...choice,
      message: {
        ...message,
        ...(texts.length === 0 ? {} : { content: [...(said === undefined ? [] : [said]), ...texts].join('\n') }),
        ...(listed.length === 0 ? {} : { tool_calls: listed }),
        ...(single === undefined ? {} : { function_call: single }),
      },
      finish_reason: endReason(choice, left.length > 0),
    };
  });
  return { ...completion, choices };
}
