import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isRecord } from './json-rpc.ts';

export type PinMode = 'off' | 'warn' | 'quarantine';

export interface DefinitionChange {
  readonly tool: string;
  readonly what: 'new' | 'changed';
  /** One line for each field that differs, before and after. */
  readonly difference: readonly string[];
}

interface Pinned {
  readonly hash: string;
  readonly definition: Readonly<Record<string, unknown>>;
}

interface Board {
  /** What a person accepted, or what the server said first. */
  readonly accepted: Record<string, Pinned>;
  /** What the server says now where that differs. */
  readonly waiting: Record<string, Pinned>;
}

/** What a model reads of a tool. A server that changes one of these changes what the tool appears to be. */
const FIELDS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;
const MAX_SHOWN_CHARS = 1_000;

/** The tool definitions of one server that were accepted, kept in a file. */
export class ToolPins {
  readonly #file: string;
  readonly #unwritable: ((error: Error) => void) | undefined;
  #board: Board;
  #isWritten = true;

  /**
   * `unwritable` is called if the file cannot be written; pins then last as long as the process. Without it that throws.
   *
   * @throws Error if the file is there and cannot be read
   */
  constructor(file: string, unwritable?: (error: Error) => void) {
    this.#file = file;
    this.#unwritable = unwritable;
    this.#board = readBoard(file);
  }

  /** True until a definition was accepted. */
  get isEmpty(): boolean {
    return Object.keys(this.#board.accepted).length === 0;
  }

  get waiting(): readonly DefinitionChange[] {
    return Object.entries(this.#board.waiting).map(([tool, { definition }]) => this.#change(tool, definition));
  }

  /** True if the definition that was seen last is the accepted one. */
  isAccepted(tool: string): boolean {
    return Object.hasOwn(this.#board.accepted, tool) && !Object.hasOwn(this.#board.waiting, tool);
  }

  /** Compares what the server says of a tool with what was accepted; undefined if it is the same. */
  see(definition: Readonly<Record<string, unknown>>): DefinitionChange | undefined {
    const tool = String(definition.name);
    const pinned = pin(definition);
    if (this.#board.accepted[tool]?.hash === pinned.hash) {
      if (Object.hasOwn(this.#board.waiting, tool)) this.#write({ waiting: without(this.#board.waiting, tool) });
      return undefined;
    }
    if (this.#board.waiting[tool]?.hash !== pinned.hash)
      this.#write({ waiting: { ...this.#board.waiting, [tool]: pinned } });
    return this.#change(tool, pinned.definition);
  }

  /** Accepts the definition that waits; false if there is none. */
  accept(tool: string): boolean {
    const pinned = Object.hasOwn(this.#board.waiting, tool) ? this.#board.waiting[tool] : undefined;
    if (pinned === undefined) return false;
    const accepted = { ...this.#board.accepted, [tool]: pinned };
    this.#write({ accepted, waiting: without(this.#board.waiting, tool) });
    return true;
  }

  /** Reads again what another process accepted. */
  reload(): void {
    if (!this.#isWritten) return;
    this.#board = readBoard(this.#file);
  }

  #change(tool: string, definition: Pinned['definition']): DefinitionChange {
    const accepted = this.#board.accepted[tool]?.definition;
    return {
      tool,
      what: accepted === undefined ? 'new' : 'changed',
      difference: FIELDS.flatMap((field) => {
        const [before, after] = [shown(accepted?.[field]), shown(definition[field])];
        return before === after
          ? []
          : [accepted === undefined ? `${field}: ${after}` : `${field}: ${before} → ${after}`];
      }),
    };
  }

  #write(changed: Partial<Board>): void {
    this.#board = { ...this.#board, ...changed };
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      const next = `${this.#file}.${process.pid}`;
      writeFileSync(next, `${JSON.stringify(this.#board, null, 2)}\n`, { mode: 0o600 });
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

function readBoard(file: string): Board {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { accepted: {}, waiting: {} };
    throw error;
  }
  let board: unknown;
  try {
    board = JSON.parse(text);
  } catch {
    board = undefined;
  }
  if (!isRecord(board) || !isRecord(board.accepted) || !isRecord(board.waiting))
    throw new Error(`${file} is no file of pinned tools; remove it to pin what the server says now`);
  return board as unknown as Board;
}

function pin(definition: Readonly<Record<string, unknown>>): Pinned {
  const kept = Object.fromEntries(FIELDS.flatMap((field) => (field in definition ? [[field, definition[field]]] : [])));
  return { hash: createHash('sha256').update(canonical(kept)).digest('hex'), definition: kept };
}

/** JSON with sorted keys: a server may write its schema in another order. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isRecord(value)) return JSON.stringify(value) ?? 'null';
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`;
}

/** For a person to compare: characters that cannot be seen are spelt out. */
function shown(value: unknown): string {
  if (value === undefined) return '(none)';
  const text = typeof value === 'string' ? JSON.stringify(value) : canonical(value);
  const visible = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
  return visible.length > MAX_SHOWN_CHARS
    ? `${visible.slice(0, MAX_SHOWN_CHARS)}… (${visible.length} characters)`
    : visible;
}

function without<T>(entries: Readonly<Record<string, T>>, name: string): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => key !== name));
}
