import { canonicalJson } from '@agentlens/contracts';
import { type DetectorName, redact } from '../../detectors/detectors.ts';

/** The gateway truncates arguments that are nested deeper. */
const MAX_DEPTH = 64;

type Branch = Readonly<Record<string, unknown>> | readonly unknown[];

/**
 * Returns `root` with `value` at a dot path, copying only the objects along the path. Returns `root` itself if the
 * value is already there, and undefined if something along the path is neither an object nor a list.
 */
export function setAt(root: unknown, path: string, value: unknown): unknown {
  return put(root, path.split('.'), value);
}

function put(here: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return sameJson(here, value) ? here : value;
  if (here === undefined) return put({}, [key, ...rest], value);
  if (!isBranch(here) || (Array.isArray(here) && !isPlaceIn(here, key))) return undefined;
  const old = own(here, key);
  const changed = put(old, rest, value);
  if (changed === undefined) return undefined;
  return changed === old && Object.hasOwn(here, key) ? here : withKey(here, key, changed);
}

/** Returns `root` without the value at a dot path, or `root` itself if the path does not exist. */
export function removedAt(root: unknown, path: string): unknown {
  const [key = '', ...rest] = path.split('.');
  if (!isBranch(root) || !Object.hasOwn(root, key)) return root;
  if (rest.length > 0) {
    const old = own(root, key);
    const changed = removedAt(old, rest.join('.'));
    return changed === old ? root : withKey(root, key, changed);
  }
  if (Array.isArray(root)) return isPlaceIn(root, key) ? root.toSpliced(Number(key), 1) : root;
  return Object.fromEntries(Object.entries(root).filter(([name]) => name !== key));
}

/** Returns `root` with every detector match in its strings replaced, or `root` itself if nothing matches. */
export function redactedText(names: readonly DetectorName[], root: unknown, depth = 0): unknown {
  if (typeof root === 'string') return redact(names, root);
  if (!isBranch(root)) return root;
  if (depth >= MAX_DEPTH) throw new Error('the arguments are nested too deep to be redacted');
  let changed: Branch = root;
  for (const [key, inner] of Object.entries(root)) {
    const clean = redactedText(names, inner, depth + 1);
    if (clean !== inner) changed = withKey(changed, key, clean);
  }
  return changed;
}

function isBranch(value: unknown): value is Branch {
  return typeof value === 'object' && value !== null;
}

function isPlaceIn(list: readonly unknown[], key: string): boolean {
  return /^\d{1,6}$/.test(key) && Number(key) < list.length;
}

function own(branch: Branch, key: string): unknown {
  return Object.hasOwn(branch, key) ? (branch as Record<string, unknown>)[key] : undefined;
}

function withKey(branch: Branch, key: string, value: unknown): Branch {
  if (Array.isArray(branch)) return branch.with(Number(key), value);
  // Built from entries so that a key like `__proto__` stays an ordinary key.
  return Object.fromEntries([...Object.entries(branch).filter(([name]) => name !== key), [key, value]]);
}

function sameJson(a: unknown, b: unknown): boolean {
  return a !== undefined && canonicalJson(a) === canonicalJson(b);
}
