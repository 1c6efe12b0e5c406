import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isRecord } from './json-rpc.ts';

export type PinMode = 'off' | 'warn' | 'quarantine';

/** What a server says that a model reads, apart from results of tools. */
export const PIN_KINDS = ['tool', 'prompt', 'prompt text', 'instructions'] as const;
export type PinKind = (typeof PIN_KINDS)[number];

/** One thing a server says. `name` is unique within its kind. */
export interface Definition {
  readonly kind: PinKind;
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface DefinitionChange {
  readonly kind: PinKind;
  readonly name: string;
  readonly what: 'new' | 'changed';
  /** SHA-256 (hex) of the whole definition: what a review is about. */
  readonly hash: string;
  /** One line for each field that differs: before and after, whole, with some context. */
  readonly difference: readonly string[];
}

interface Pinned {
  readonly hash: string;
  readonly definition: Readonly<Record<string, unknown>>;
}

interface Board {
  /** What a person accepted, or what the server said first. */
  readonly accepted: Readonly<Record<string, Pinned>>;
  /** What the server says now where that differs. */
  readonly waiting: Readonly<Record<string, Pinned>>;
}

type Boards = Readonly<Record<PinKind, Board>>;

/** What a model reads of each kind. A server that changes one of these changes what the thing appears to be. */
const FIELDS: Readonly<Record<PinKind, readonly string[]>> = {
  tool: ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'],
  prompt: ['name', 'title', 'description', 'arguments'],
  'prompt text': ['prompt', 'arguments', 'description', 'messages'],
  instructions: ['instructions'],
};
/** A prompt has a text for each set of arguments. The oldest is forgotten, and then counts as new. */
const MAX_PINS_OF_A_KIND = 2_000;
const CONTEXT_CHARS = 60;
const SHOWN_HASH_CHARS = 12;
const EMPTY: Board = { accepted: {}, waiting: {} };

/** The definitions of one server that were accepted, kept in a file. Definitions are compared whole, by hash. */
export class Pins {
  readonly #file: string;
  readonly #unwritable: ((error: Error) => void) | undefined;
  #boards: Boards;
  #isWritten = true;

  /**
   * `unwritable` is called if the file cannot be written; pins then last as long as the process. Without it that throws.
   *
   * @throws Error if the file is there and cannot be read
   */
  constructor(file: string, unwritable?: (error: Error) => void) {
    this.#file = file;
    this.#unwritable = unwritable;
    this.#boards = readBoards(file);
  }

  /** True until a definition of this kind was accepted. */
  isEmpty(kind: PinKind): boolean {
    return Object.keys(this.#boards[kind].accepted).length === 0;
  }

  get waiting(): readonly DefinitionChange[] {
    return PIN_KINDS.flatMap((kind) =>
      Object.entries(this.#boards[kind].waiting).map(([name, pinned]) => this.#describe(kind, name, pinned)),
    );
  }

  /** True if the definition that was seen last is the accepted one. */
  isAccepted(kind: PinKind, name: string): boolean {
    const { accepted, waiting } = this.#boards[kind];
    return Object.hasOwn(accepted, name) && !Object.hasOwn(waiting, name);
  }

  /** True if any definition of this name was accepted. */
  isPinned(kind: PinKind, name: string): boolean {
    return Object.hasOwn(this.#boards[kind].accepted, name);
  }

  /** Compares what the server says with what was accepted; undefined if it is the same. */
  see({ kind, name, fields }: Definition): DefinitionChange | undefined {
    const { accepted, waiting } = this.#boards[kind];
    const pinned = pin(kind, fields);
    if (ownEntry(accepted, name)?.hash === pinned.hash) {
      if (Object.hasOwn(waiting, name)) this.#write(kind, { waiting: without(waiting, name) });
      return undefined;
    }
    if (ownEntry(waiting, name)?.hash !== pinned.hash) this.#write(kind, { waiting: withEntry(waiting, name, pinned) });
    return this.#describe(kind, name, pinned);
  }

  /** Accepts the definition that waits if it is the one with this hash, or a prefix of it; false if it is another. */
  accept({ kind, name, hash }: Pick<DefinitionChange, 'kind' | 'name' | 'hash'>): boolean {
    const { accepted, waiting } = this.#boards[kind];
    const pinned = ownEntry(waiting, name);
    if (pinned === undefined || hash.length < SHOWN_HASH_CHARS || !pinned.hash.startsWith(hash)) return false;
    this.#write(kind, { accepted: withEntry(accepted, name, pinned), waiting: without(waiting, name) });
    return true;
  }

  /** Reads again what another process accepted. */
  reload(): void {
    if (!this.#isWritten) return;
    this.#boards = readBoards(this.#file);
  }

  #describe(kind: PinKind, name: string, { hash, definition }: Pinned): DefinitionChange {
    const accepted = ownEntry(this.#boards[kind].accepted, name)?.definition;
    return {
      kind,
      name,
      what: accepted === undefined ? 'new' : 'changed',
      hash,
      difference: FIELDS[kind].flatMap((field) => describeField(field, accepted, definition)),
    };
  }

  #write(kind: PinKind, changed: Partial<Board>): void {
    this.#boards = { ...this.#boards, [kind]: { ...this.#boards[kind], ...changed } };
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      const next = `${this.#file}.${process.pid}`;
      const { tool, ...others } = this.#boards;
      writeFileSync(next, `${JSON.stringify({ ...tool, others }, null, 2)}\n`, { mode: 0o600 });
      renameSync(next, this.#file);
    } catch (error) {
      if (this.#unwritable === undefined) throw error;
      this.#isWritten = false;
      this.#unwritable(error as Error);
    }
  }
}

/** Where pins of a server are kept unless the command line says otherwise. */
export function pinsFile(server: string, env: Readonly<Record<string, string | undefined>>): string {
  const state = env.XDG_STATE_HOME || join(homedir(), '.local/state');
  return join(state, 'agentlens/mcp-pins', `${encodeURIComponent(server)}.json`);
}

/** The prefix of a hash that `agentlens-mcp accept` shows and takes. */
export function shortHash(hash: string): string {
  return hash.slice(0, SHOWN_HASH_CHARS);
}

/** The text of a prompt for a set of arguments: a server may answer others with another text. */
export function definePromptText(prompt: string, args: unknown, result: Readonly<Record<string, unknown>>): Definition {
  const given = canonical(args ?? {});
  const name = `${prompt}#${createHash('sha256').update(given).digest('hex').slice(0, 16)}`;
  const { description, messages } = result;
  return { kind: 'prompt text', name, fields: { prompt, arguments: args, description, messages } };
}

/** Files of earlier versions have only the tools. */
function readBoards(file: string): Boards {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return { tool: EMPTY, prompt: EMPTY, 'prompt text': EMPTY, instructions: EMPTY };
  }
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    read = undefined;
  }
  const others = isRecord(read) && isRecord(read.others) ? read.others : {};
  const boardFrom = (value: unknown): Board => {
    if (!isRecord(value) || !isRecord(value.accepted) || !isRecord(value.waiting))
      throw new Error(`${file} is no file of pinned definitions; remove it to pin what the server says now`);
    return { accepted: value.accepted, waiting: value.waiting } as unknown as Board;
  };
  return {
    tool: boardFrom(read),
    prompt: boardFrom(others.prompt ?? EMPTY),
    'prompt text': boardFrom(others['prompt text'] ?? EMPTY),
    instructions: boardFrom(others.instructions ?? EMPTY),
  };
}

function pin(kind: PinKind, fields: Readonly<Record<string, unknown>>): Pinned {
  const kept = Object.fromEntries(
    FIELDS[kind].flatMap((field) => (fields[field] === undefined ? [] : [[field, fields[field]]])),
  );
  return { hash: createHash('sha256').update(canonical(kept)).digest('hex'), definition: kept };
}

/** JSON with sorted keys: a server may write its schema in another order. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null';
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`;
}

/** `field: before → after`, each from shortly before the first to shortly after the last character that differs. */
function describeField(
  field: string,
  accepted: Pinned['definition'] | undefined,
  definition: Pinned['definition'],
): readonly string[] {
  const [before, after] = [spellOut(accepted?.[field]), spellOut(definition[field])];
  if (before === after) return [];
  if (accepted === undefined) return [`${field}: ${after}`];
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const shorter = Math.min(before.length, after.length) - start;
  while (end < shorter && before.at(-1 - end) === after.at(-1 - end)) end++;
  const from = Math.max(0, start - CONTEXT_CHARS);
  const excerpt = (text: string) => {
    const to = Math.min(text.length, text.length - end + CONTEXT_CHARS);
    return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`;
  };
  return [`${field}: ${excerpt(before)} → ${excerpt(after)}`];
}

/** For a person to compare: characters that cannot be seen are spelt out. */
function spellOut(value: unknown): string {
  if (value === undefined) return '(none)';
  const text = typeof value === 'string' ? JSON.stringify(value) : canonical(value);
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Names are a server's own: `constructor` is one too. */
function ownEntry(entries: Readonly<Record<string, Pinned>>, name: string): Pinned | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}

function withEntry(entries: Readonly<Record<string, Pinned>>, name: string, pinned: Pinned): Record<string, Pinned> {
  const others = Object.entries(entries).filter(([key]) => key !== name);
  return Object.fromEntries([...others.slice(Math.max(0, others.length + 1 - MAX_PINS_OF_A_KIND)), [name, pinned]]);
}

function without(entries: Readonly<Record<string, Pinned>>, name: string): Record<string, Pinned> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => key !== name));
}
