interface File {
  /** Size of the file, and how much of it was synced, bytes. */
  written: number;
  synced: number;
  /** Opened with synchronous writes. */
  always: boolean;
}

interface Call {
  readonly name: string;
  readonly text: string;
  /** Size that the sync makes durable: an fsync covers what was written when it began. */
  readonly covers: number;
}

const LINE = /^(\d+)\s+(\d+\.\d+)\s+(.*)$/;
const STARTED = /^(\w+)\((.*)$/;
const RESUMED = /^<\.\.\. (\w+) resumed>(.*)$/;
const RESULT = /= (-?\d+)/;
const DESCRIPTOR = /^\d+<([^>]*)>/;
const OPENED = /= \d+<([^>]*)>/;

/**
 * Parses the output of `strace -f -y -ttt -s 0` and returns how much of each file was synced at the end. Writes from
 * before `writtenOutBy` (seconds since 1970) count as synced, because the system writes everything back eventually.
 */
export function syncedFiles(trace: string, writtenOutBy: number): ReadonlyMap<string, number> {
  const files = new Map<string, File>();
  const unfinished = new Map<string, Call>();
  const fileAt = (path: string): File => {
    const file = files.get(path) ?? { written: 0, synced: 0, always: false };
    files.set(path, file);
    return file;
  };

  function begin(name: string, text: string): Call {
    const path = DESCRIPTOR.exec(text)?.[1];
    return { name, text, covers: path === undefined ? 0 : fileAt(path).written };
  }

  function end({ name, text, covers }: Call, at: number): void {
    const result = Number(RESULT.exec(text.slice(text.lastIndexOf(')')))?.[1] ?? Number.NaN);
    if (name === 'openat') {
      const path = OPENED.exec(text)?.[1];
      if (path === undefined) return;
      const file = fileAt(path);
      file.always = text.includes('O_SYNC');
      if (text.includes('O_TRUNC')) Object.assign(file, { written: 0, synced: 0 });
      return;
    }
    const path = DESCRIPTOR.exec(text)?.[1];
    if (path === undefined || !(result >= 0)) return;
    const file = fileAt(path);
    if (name === 'fsync' || name === 'fdatasync') {
      file.synced = Math.max(file.synced, covers);
      return;
    }
    const offset = name === 'pwrite64' ? Number(/, (\d+)\)/.exec(text)?.[1] ?? 0) : file.written;
    file.written = Math.max(file.written, offset + result);
    if (file.always || at < writtenOutBy) file.synced = file.written;
  }

  for (const line of trace.split('\n')) {
    const [, thread, at, rest] = LINE.exec(line) ?? [];
    if (thread === undefined || rest === undefined) continue;
    const [, resumed, tail] = RESUMED.exec(rest) ?? [];
    const call = unfinished.get(thread);
    if (resumed !== undefined && call?.name === resumed) {
      unfinished.delete(thread);
      end({ ...call, text: call.text + tail }, Number(at));
      continue;
    }
    const [, name, text] = STARTED.exec(rest) ?? [];
    if (name === undefined || text === undefined) continue;
    const cut = text.indexOf(' <unfinished ...>');
    if (cut >= 0) unfinished.set(thread, begin(name, text.slice(0, cut)));
    else end(begin(name, text), Number(at));
  }
  return new Map([...files].map(([path, { synced }]) => [path, synced]));
}
