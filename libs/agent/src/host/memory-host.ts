import { createHash } from 'node:crypto';
import { AgentError } from '../core/agent-error.ts';
import { matchesGlob, normalPath } from '../permissions/paths.ts';
import { deniedHttp, deniedShell, type Host, type HostHttp, type HostShell, type ReadFile } from './host.ts';

export interface MemoryHostOptions {
  readonly files?: Readonly<Record<string, string>>;
  readonly shell?: HostShell['run'];
  readonly http?: HostHttp['send'];
}

export interface MemoryHost extends Host {
  /** Current contents of the files. */
  contents(): Readonly<Record<string, string>>;
}

/** A host for tests: in-memory files, and functions as shell and network. */
export function memoryHost({ files = {}, shell, http }: MemoryHostOptions = {}): MemoryHost {
  const kept = new Map(Object.entries(files).map(([path, text]) => [normalPath(path), text]));
  const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
  const place = (path: string) => {
    const normal = normalPath(path);
    if (normal.startsWith('..') || normal.startsWith('/')) throw new AgentError('denied_by_host', `${path} is outside`);
    return normal;
  };
  return {
    contents: () => Object.fromEntries(kept),
    files: {
      read: async (path): Promise<ReadFile> => {
        const text = kept.get(place(path));
        if (text === undefined) throw new AgentError('tool_failed', `${path} does not exist`);
        return { text, hash: hashOf(text), bytes: Buffer.byteLength(text) };
      },
      write: async (path, text, { ifHash } = {}) => {
        const before = kept.get(place(path));
        if (ifHash !== undefined && ifHash !== (before === undefined ? null : hashOf(before)))
          throw new AgentError('conflict', `${path} has changed since it was read: read it again`);
        kept.set(place(path), text);
        return { hash: hashOf(text) };
      },
      list: async (pattern, { folder = '.', limit = 1_000 } = {}) => {
        const inside = place(folder);
        const within = (path: string) =>
          inside === '' ? path : path.startsWith(`${inside}/`) ? path.slice(inside.length + 1) : null;
        const found = [...kept.keys()].filter((path) => {
          const rest = within(path);
          return rest !== null && matchesGlob(rest, pattern);
        });
        return found.sort().slice(0, limit);
      },
      resolve: async (path) => place(path),
    },
    shell: shell === undefined ? deniedShell : { run: shell },
    http: http === undefined ? deniedHttp : { send: http },
    close: () => Promise.resolve(),
  };
}
