import type { ProviderFrame } from '../frame-scanner.ts';
import { isJsonObject, type ProviderJson } from '../model-usage.ts';

/** A tool call inside an answer. */
export interface AnsweredCall {
  /** Equal in every part of the answer that belongs to the call. */
  readonly key: string;
  /** The provider's id. Gemini may give none. */
  readonly id: string | undefined;
  readonly name: string;
  /** The arguments; undefined if they are no JSON. Tools that take a text have a string. */
  readonly args: unknown;
  /** Size of the arguments as they were sent. */
  readonly argsChars: number;
}

/** The outcome for a tool call. */
export type ToolVerdict =
  | { readonly kind: 'allow' }
  /** A text takes its place. */
  | { readonly kind: 'block'; readonly text: string }
  | { readonly kind: 'change'; readonly args: unknown };

/** By key of the call. A call without a verdict is allowed. */
export type ToolVerdicts = ReadonlyMap<string, ToolVerdict>;

/** Follows the tool calls in the frames of one stream. */
export interface StreamedCalls {
  /** Notes what the frame says. Returns the names of the calls that begin in it. */
  read(frame: ProviderFrame): readonly string[];
  /** The calls so far, in the order of the answer. Parses their arguments. */
  readonly calls: readonly AnsweredCall[];
  /** Their number, which is asked for at every frame. */
  readonly count: number;
  /** The provider said that the answer is complete. */
  readonly isComplete: boolean;
  /** Writes frames with other calls. Frames that stay as they are keep their bytes. */
  rewrite(frames: readonly ProviderFrame[], verdicts: ToolVerdicts): Uint8Array[];
}

const encoder = new TextEncoder();

export function encode(text: string): Uint8Array {
  return encoder.encode(text);
}

/** A frame with an event name, as Anthropic and Responses send it. */
export function writeEvent(type: string, value: object): Uint8Array {
  return encode(`event: ${type}\ndata: ${JSON.stringify(value)}\n\n`);
}

export function writeData(value: object): Uint8Array {
  return encode(`data: ${JSON.stringify(value)}\n\n`);
}

/** Arguments that were sent as JSON text. No text means no arguments. */
export function parseArgs(text: string): unknown {
  if (text === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a more lenient parser than ours may read an object. */
export function looksLikeJson(text: string): boolean {
  return /^\ufeff?\s*(\{|\[\s*\{)/.test(text);
}

export function listObjects(value: unknown): readonly ProviderJson[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

export function readString(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
