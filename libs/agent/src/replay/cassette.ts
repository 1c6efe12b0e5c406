import { readFile } from 'node:fs/promises';
import { AgentError } from '../core/agent-error.ts';
import { isPlainObject, type Json, parseJson } from '../core/json.ts';
import { replaceFile } from '../session/session-files.ts';

const SCHEMA_VERSION = 1;

export interface RecordedError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly info?: Json;
}

/** One external answer, in order of arrival. A stream has several, numbered by `part`, with `end` on the last. */
export interface CassetteEntry {
  readonly n: number;
  readonly kind: string;
  /** SHA-256 of the request as canonical JSON. */
  readonly hash: string;
  /** Index among equal requests, from 0. */
  readonly occurrence: number;
  readonly part?: number;
  /** Unix ms: the run's clock from here on. */
  readonly at: number;
  readonly request?: Json;
  readonly response?: Json;
  readonly error?: RecordedError;
  readonly end?: true;
}

/** Recording of a run's external input. Secrets and personal data are removed before anything is stored. */
export class Cassette {
  seed: number | undefined;
  startAt: number | undefined;
  readonly entries: CassetteEntry[] = [];

  /** @throws AgentError `invalid_config`, `schema_too_new` */
  static from(json: unknown): Cassette {
    if (!isPlainObject(json) || !Array.isArray(json.entries)) throw invalid('it has no list "entries"');
    const { schemaVersion, seed, startAt, entries } = json;
    if (typeof schemaVersion !== 'number') throw invalid('it has no schemaVersion');
    if (schemaVersion > SCHEMA_VERSION)
      throw new AgentError('schema_too_new', 'the cassette was recorded by a newer version');
    if (typeof seed !== 'number' || typeof startAt !== 'number') throw invalid('seed and startAt must be numbers');
    const cassette = new Cassette();
    cassette.seed = seed;
    cassette.startAt = startAt;
    for (const [index, entry] of entries.entries()) {
      if (!isEntry(entry) || entry.n !== index + 1) throw invalid(`entries[${index}] is malformed or out of order`);
      cassette.entries.push(entry);
    }
    return cassette;
  }

  static async load(path: string): Promise<Cassette> {
    return Cassette.from(parseJson(await readFile(path, 'utf8')));
  }

  toJSON() {
    return { schemaVersion: SCHEMA_VERSION, seed: this.seed, startAt: this.startAt, entries: this.entries };
  }

  save(path: string): Promise<void> {
    return replaceFile(path, `${JSON.stringify(this, null, 1)}\n`, false);
  }
}

function isEntry(value: unknown): value is CassetteEntry {
  if (!isPlainObject(value)) return false;
  const { n, kind, hash, occurrence, at } = value;
  return (
    [n, occurrence, at].every((field) => typeof field === 'number') &&
    typeof kind === 'string' &&
    typeof hash === 'string'
  );
}

function invalid(why: string): AgentError {
  return new AgentError('invalid_config', `the cassette cannot be used: ${why}`);
}
