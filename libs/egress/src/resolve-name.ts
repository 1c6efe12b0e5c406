import { lookup as systemLookup } from 'node:dns/promises';

/** All addresses of a name, as the system resolves it. */
export type ResolveName = (name: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

export interface Names {
  readonly resolve: ResolveName;
  /** Discards the cached result. */
  forget(name: string): void;
}

const RESOLVE_TIMEOUT_MS = 10_000;
/** Shorter than usual DNS caching, longer than a burst of webhooks. */
const REMEMBER_MS = 10_000;
const MAX_REMEMBERED = 1_024;

export const resolveWithSystem: ResolveName = (name) => systemLookup(name, { all: true });

/**
 * Shares concurrent lookups of a name and caches results for ten seconds. The system resolver has few threads, and a
 * name that does not resolve must occupy at most one of them. Failures are not cached. Addresses are checked on every
 * connection.
 */
export function rememberingNames(resolve: ResolveName, now: () => number = () => performance.now()): Names {
  const known = new Map<string, { readonly found: ReturnType<ResolveName>; until: number }>();
  return {
    resolve(name) {
      const entry = known.get(name);
      if (entry !== undefined && entry.until > now()) return entry.found;
      const asked = { found: withinTimeout(resolve(name)), until: Number.POSITIVE_INFINITY };
      known.delete(name);
      known.set(name, asked);
      asked.found.then(
        () => {
          asked.until = now() + REMEMBER_MS;
        },
        () => {
          if (known.get(name) === asked) known.delete(name);
        },
      );
      if (known.size > MAX_REMEMBERED) known.delete(known.keys().next().value ?? '');
      return asked.found;
    },
    forget: (name) => void known.delete(name),
  };
}

function withinTimeout<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(Object.assign(new Error('name resolution timed out'), { code: 'EAI_AGAIN' }));
    const timer = setTimeout(late, RESOLVE_TIMEOUT_MS).unref();
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
