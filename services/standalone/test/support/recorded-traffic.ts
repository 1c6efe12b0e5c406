import { readFile } from 'node:fs/promises';
import { eventually } from '@agentlens/testing';
import { expect } from '@jest/globals';
import type { PlatformUnderTest } from './platform-under-test.ts';

/**
 * The part of a JSON value that a client needs: `"string"`, `"integer or null"`; an object of shapes, in which a name
 * that ends with `?` may be absent or null; a list of one shape, which every item must have; or `#name`, one of the
 * recording's `shapes`.
 */
export type Shape = string | readonly [Shape] | { readonly [name: string]: Shape };

export interface RecordedCall {
  /** The method that the client's user called. */
  readonly call: string;
  readonly request: { readonly method: string; readonly path: string; readonly body?: unknown };
  /** `fields` are those that the client reads, `values` those it must find. */
  readonly answer: { readonly status: number; readonly fields?: Shape; readonly values?: object };
  /** Names that later calls use in `{{name}}`, and the place of their values in this answer. */
  readonly keep?: Readonly<Record<string, string>>;
}

export interface Recording {
  readonly client: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly shapes: Readonly<Record<string, Shape>>;
  readonly calls: readonly RecordedCall[];
}

export async function readRecording(name: string): Promise<Recording> {
  return JSON.parse(await readFile(new URL(`../recordings/${name}.json`, import.meta.url), 'utf8')) as Recording;
}

/** Sends recorded requests like their client did, and checks the answers by what that client reads. */
export class RecordedClient {
  readonly #platform: PlatformUnderTest;
  readonly #key: string;
  readonly #recording: Recording;
  readonly #kept = new Map<string, string>();

  constructor(platform: PlatformUnderTest, key: string, recording: Recording) {
    this.#platform = platform;
    this.#key = key;
    this.#recording = recording;
  }

  /** Repeats a read until earlier writes are visible, because this client is not notified. */
  async play(call: RecordedCall): Promise<void> {
    const { method } = call.request;
    if (method === 'GET') await eventually(() => this.#once(call));
    else await this.#once(call);
  }

  async #once({ request, answer, keep }: RecordedCall): Promise<void> {
    const { method, path, body } = this.#filled(request) as RecordedCall['request'];
    const response = await fetch(`${this.#platform.addressFor(method, path)}${path}`, {
      method,
      headers: {
        ...this.#recording.headers,
        authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const read: unknown = await response.json();
    expect({ status: response.status, read }).toMatchObject({ status: answer.status });
    if (answer.fields !== undefined) expect(missing(answer.fields, read, this.#recording.shapes)).toEqual([]);
    if (answer.values !== undefined) expect(read).toMatchObject(this.#filled(answer.values) as object);
    for (const [name, place] of Object.entries(keep ?? {})) this.#kept.set(name, String(at(read, place)));
  }

  #filled(part: unknown): unknown {
    const now = new Date().toISOString();
    const text = JSON.stringify(part).replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
      if (name === 'now') return now;
      if (name === 'pythonNow') return now.replace('Z', '000+00:00');
      const kept = this.#kept.get(name);
      if (kept === undefined) throw new Error(`no call before kept "${name}"`);
      return kept;
    });
    return JSON.parse(text);
  }
}

/** The parts of a shape that a value lacks, each with its place. */
export function missing(
  shape: Shape,
  value: unknown,
  shapes: Recording['shapes'] = {},
  place = 'answer',
): readonly string[] {
  if (typeof shape === 'string') {
    const named = shape.startsWith('#') ? shapes[shape.slice(1)] : undefined;
    if (named !== undefined) return missing(named, value, shapes, place);
    return shape.split(' or ').includes(typeOf(value)) || (shape === 'number' && typeOf(value) === 'integer')
      ? []
      : [`${place} must be ${shape}: ${JSON.stringify(value)}`];
  }
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return [`${place} must be a list`];
    return value.flatMap((item, index) => missing(shape[0] as Shape, item, shapes, `${place}.${index}`));
  }
  if (typeOf(value) !== 'object') return [`${place} must be object: ${JSON.stringify(value)}`];
  return Object.entries(shape).flatMap(([field, inner]) => {
    const name = field.replace(/\?$/, '');
    const found = (value as Record<string, unknown>)[name];
    if (name !== field && (found === undefined || found === null)) return [];
    return missing(inner, found, shapes, `${place}.${name}`);
  });
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

function at(value: unknown, place: string): unknown {
  return place.split('.').reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], value);
}
