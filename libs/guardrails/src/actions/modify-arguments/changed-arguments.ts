import { canonicalJson } from '@agentlens/contracts';
import { type DetectorName, redact } from '../../detectors/detectors.ts';

/** Deeper arguments are cut off at the edge. */
const MAX_DEPTH = 64;

type Branch = Readonly<Record<string, unknown>> | readonly unknown[];

/**
 * `root` with `value` at a dot path, made of new objects along the path; the very same where it stands there already.
 * Undefined: something on the way is no object and no list.
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

/** `root` without what stands at a dot path; the very same where nothing does. */
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

/** `root` with everything the detectors find in its texts replaced; the very same where they find nothing. */
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
  // Made from entries: a key like __proto__ has to become a key like any other.
  return Object.fromEntries([...Object.entries(branch).filter(([name]) => name !== key), [key, value]]);
}

function sameJson(a: unknown, b: unknown): boolean {
  return a !== undefined && canonicalJson(a) === canonicalJson(b);
}
