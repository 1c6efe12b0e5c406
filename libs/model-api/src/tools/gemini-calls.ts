import type { ProviderFrame } from '../frame-scanner.ts';
import { isJsonObject, type ProviderJson } from '../model-usage.ts';
import {
  type AnsweredCall,
  encode,
  listObjects,
  readString,
  type StreamedCalls,
  type ToolVerdict,
  type ToolVerdicts,
} from './tool-call.ts';

/** Tool calls of Gemini: each part `functionCall` is complete in its chunk. Calls are numbered through the answer. */
export class GeminiCalls implements StreamedCalls {
  readonly #calls: AnsweredCall[] = [];
  /** The number of the first call of each frame. */
  readonly #starts = new WeakMap<ProviderFrame, number>();
  isComplete = false;

  get count(): number {
    return this.#calls.length;
  }

  get calls(): readonly AnsweredCall[] {
    return this.#calls;
  }

  read(frame: ProviderFrame): readonly string[] {
    const { object } = frame;
    if (object === undefined) return [];
    if (listObjects(object.candidates).some(({ finishReason }) => readString(finishReason) !== undefined)) {
      this.isComplete = true;
    }
    this.#starts.set(frame, this.#calls.length);
    const found = readGeminiCalls(object, this.#calls.length);
    this.#calls.push(...found);
    return found.map(({ name }) => name);
  }

  rewrite(frames: readonly ProviderFrame[], verdicts: ToolVerdicts): Uint8Array[] {
    return frames.map((frame) => {
      const { raw, object } = frame;
      if (object === undefined || !isTouched(object, verdicts, this.#starts.get(frame) ?? 0)) return raw;
      return encode(`data: ${JSON.stringify(rewriteGemini(object, verdicts, this.#starts.get(frame)))}\r\n\r\n`);
    });
  }
}

function listParts({ content }: ProviderJson): readonly ProviderJson[] {
  return isJsonObject(content) ? listObjects(content.parts) : [];
}

/** @param first number of the first call */
export function readGeminiCalls(chunk: ProviderJson, first = 0): AnsweredCall[] {
  const called = listObjects(chunk.candidates)
    .flatMap(listParts)
    .flatMap(({ functionCall }) => (isJsonObject(functionCall) ? [functionCall] : []));
  return called.map(({ id, name, args = {} }, at) => ({
    ...{ key: String(first + at), id: readString(id), name: readString(name) ?? '', args },
    argsChars: JSON.stringify(args).length,
  }));
}

function isTouched(chunk: ProviderJson, verdicts: ToolVerdicts, first: number): boolean {
  return readGeminiCalls(chunk, first).some(({ key }) => (verdicts.get(key)?.kind ?? 'allow') !== 'allow');
}

export function rewriteGemini(chunk: ProviderJson, verdicts: ToolVerdicts, first = 0): ProviderJson {
  let number = first - 1;
  const candidates = listObjects(chunk.candidates).map((candidate) => {
    if (!isJsonObject(candidate.content)) return candidate;
    const parts = listParts(candidate).map((part) => {
      if (!isJsonObject(part.functionCall)) return part;
      number += 1;
      return rewritePart(part, verdicts.get(String(number)));
    });
    return { ...candidate, content: { ...candidate.content, parts } };
  });
  return { ...chunk, candidates };
}

function rewritePart(part: ProviderJson, verdict: ToolVerdict | undefined): ProviderJson {
  if (verdict?.kind === 'block') return { text: verdict.text };
  if (verdict?.kind !== 'change' || !isJsonObject(part.functionCall)) return part;
  return { ...part, functionCall: { ...part.functionCall, args: verdict.args } };
}

/** The provider checks its signature of a part, so that calls in a signed answer cannot be changed. */
export function isSigned(chunk: ProviderJson): boolean {
  return listObjects(chunk.candidates)
    .flatMap(listParts)
    .some((part) => readString(part.thoughtSignature ?? part.thought_signature) !== undefined);
}
