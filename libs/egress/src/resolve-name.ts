import { lookup as systemLookup } from 'node:dns/promises';

/** All addresses of a name, as the system resolves it. */
export type ResolveName = (name: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

export interface Names {
  readonly resolve: ResolveName;
  /** Ask anew the next time. */
  forget(name: string): void;
}

const RESOLVE_TIMEOUT_MS = 10_000;
/** Short beside what names are usually cached for; long beside a burst of webhooks. */
const REMEMBER_MS = 10_000;
const MAX_REMEMBERED = 1_024;

export const resolveWithSystem: ResolveName = (name) => systemLookup(name, { all: true });

/**
 * Asks for a name once at a time and not again for ten seconds: the system resolver has few threads, and a name that
 * does not answer must hold at most one of them. What was not found is not remembered. Whoever connects judges the
 * addresses every time, remembered or not.
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
    const late = () => reject(Object.assign(new Error('name not resolved in time'), { code: 'EAI_AGAIN' }));
    const timer = setTimeout(late, RESOLVE_TIMEOUT_MS).unref();
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
