import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { HostContract, ModelUsage } from '../hosts/host.ts';
import type { UsageClaims, UsageOwner } from './claims.ts';
import { type RecordedUsage, usageInLine } from './records.ts';

const MAX_READ_BYTES = 20_000_000;

interface Position {
  offset: number;
  /** Start of a line whose end is not written yet. */
  rest: string;
  /** Model that later lines belong to, on hosts that name it once. */
  model: string | undefined;
  /** Usage of a message that may still grow, by its id. */
  readonly pending: Map<string, ModelUsage>;
  /** The session of the file, on hosts that name it in the first line. */
  session: string | undefined;
  /** The sessions whose lines the file begins with; empty once a line is its own. */
  readonly copiedFrom: Set<string>;
  /** Sums at the last call, on hosts that write them. */
  sums: string | undefined;
}

/**
 * Reads the model calls that hosts add to their transcripts. A message that is written several times counts once, with
 * its last numbers.
 */
export class Usage {
  readonly #positions = new Map<string, Position>();
  readonly #claims: UsageClaims;

  constructor(claims: UsageClaims) {
    this.#claims = claims;
  }

  /**
   * @param whole the turn is complete, so no message grows any more @returns the calls that are new and that no other
   *   session has reported
   */
  read(owner: UsageOwner, file: string, whole: boolean): ModelUsage[] {
    const { host } = owner;
    const position = this.#positions.get(file) ?? startOfFile();
    this.#positions.set(file, position);
    const text = position.rest + grown(file, position);
    const lines = text.split('\n');
    position.rest = lines.pop() ?? '';
    const done: ModelUsage[] = [];
    let at = position.offset - Buffer.byteLength(text);
    for (const line of lines) {
      const found = usageInLine(host, line, at);
      at += Buffer.byteLength(line) + 1;
      position.model = found?.model ?? position.model;
      if (found !== undefined) followSessions(position, found);
      if (found?.usage === undefined) continue;
      const usage = { ...found.usage, model: found.usage.model ?? position.model };
      // These hosts write a record once, when the call is complete.
      if (host === 'codex' || host === 'copilot-cli' || host === 'kimi-code') {
        if (this.#isOwn(owner, position, found.sums)) done.push(usage);
        continue;
      }
      for (const [id, earlier] of position.pending) {
        if (id === usage.id) continue;
        position.pending.delete(id);
        done.push(earlier);
      }
      position.pending.set(usage.id, usage);
    }
    if (whole) {
      done.push(...position.pending.values());
      position.pending.clear();
    }
    // Sums name the calls of Codex; offsets of its lines differ in each copy.
    return host === 'codex' ? done : done.filter(({ id }) => this.#claims.claim(owner, id));
  }

  /** Whether a call that a session names by its sums is new and was not copied from the session before it. */
  #isOwn(owner: UsageOwner, position: Position, sums: string | undefined): boolean {
    if (owner.host !== 'codex' || sums === undefined) return true;
    // The same call again: the host repeats its counts when limits change.
    if (sums === position.sums) return false;
    position.sums = sums;
    const { session = owner.id, copiedFrom } = position;
    if ([...copiedFrom].some((id) => this.#claims.has(owner.host, `${id} ${sums}`))) {
      // A fork of this fork copies these lines as well.
      this.#claims.claim(owner, `${session} ${sums}`);
      return false;
    }
    copiedFrom.clear();
    return this.#claims.claim(owner, `${session} ${sums}`);
  }
}

function startOfFile(): Position {
  return {
    ...{ offset: 0, rest: '', model: undefined, pending: new Map<string, ModelUsage>() },
    ...{ session: undefined, copiedFrom: new Set<string>(), sums: undefined },
  };
}

/** The first line names the session of the file; a later one belongs to what was copied. */
function followSessions(position: Position, { session, forkedFrom }: RecordedUsage): void {
  if (session === undefined) return;
  if (position.session === undefined) position.session = session;
  else if (session !== position.session) position.copiedFrom.add(session);
  if (forkedFrom !== undefined && session === position.session) position.copiedFrom.add(forkedFrom);
}

/** What was added to the file since the last time. A file that became shorter was replaced. */
function grown(file: string, position: Position): string {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    // The host writes its first line after its first hook.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
  try {
    const { size } = fstatSync(descriptor);
    if (size < position.offset) {
      Object.assign(position, startOfFile());
    }
    const bytes = Buffer.alloc(Math.min(size - position.offset, MAX_READ_BYTES));
    const length = readSync(descriptor, bytes, 0, bytes.length, position.offset);
    // A character may be half written; its bytes are read the next time.
    const end = bytes.subarray(0, length).lastIndexOf(10) + 1;
    position.offset += end;
    return bytes.subarray(0, end).toString('utf8');
  } finally {
    closeSync(descriptor);
  }
}

/** A session id becomes part of a path. */
const SESSION_ID = /^[\w-]{1,200}$/;

/** Files in which a host records a session and its sub-agents: FOLDER/<project>/<session>/…/NAME. */
export function findTranscripts(
  home: string,
  { folder, name }: NonNullable<HostContract['transcripts']>,
  session: string,
): string[] {
  const all = join(home, folder);
  if (!SESSION_ID.test(session) || !existsSync(all)) return [];
  return readdirSync(all).flatMap((project) => {
    const own = join(all, project, session);
    if (!existsSync(own)) return [];
    const files = readdirSync(own, { recursive: true, encoding: 'utf8' });
    return files.filter((file) => file.split(/[/\\]/).at(-1) === name).map((file) => join(own, file));
  });
}
