import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { HostId, ModelUsage } from '../hosts/host.ts';
import { usageInLine } from './records.ts';

const MAX_READ_BYTES = 20_000_000;

interface Position {
  offset: number;
  /** Start of a line whose end is not written yet. */
  rest: string;
  /** Model that later lines belong to, on hosts that name it once. */
  model: string | undefined;
  /** Usage of a message that may still grow, by its id. */
  readonly pending: Map<string, ModelUsage>;
}

/**
 * Reads the model calls that hosts add to their transcripts. A message that is written several times counts once, with
 * its last numbers.
 */
export class Usage {
  readonly #positions = new Map<string, Position>();

  /** @param whole the turn is complete, so no message grows any more @returns the calls that are new */
  read(host: HostId, file: string, whole: boolean): ModelUsage[] {
    const position = this.#positions.get(file) ?? { offset: 0, rest: '', model: undefined, pending: new Map() };
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
      if (found?.usage === undefined) continue;
      const usage = { ...found.usage, model: found.usage.model ?? position.model };
      // These hosts write a record once, when the call is complete.
      if (host === 'codex' || host === 'copilot-cli') {
        done.push(usage);
        continue;
      }
      for (const [id, earlier] of position.pending) {
        if (id === usage.id) continue;
        position.pending.delete(id);
        done.push(earlier);
      }
      position.pending.set(usage.id, usage);
    }
    if (!whole) return done;
    done.push(...position.pending.values());
    position.pending.clear();
    return done;
  }
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
      position.offset = 0;
      position.rest = '';
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
