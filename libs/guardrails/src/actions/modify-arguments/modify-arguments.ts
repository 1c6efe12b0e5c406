import { canonicalJson } from '@agentlens/contracts';
import { z } from 'zod';
import type { DecisionAction } from '../../catalog/action-module.ts';
import { DETECTOR_NAMES, type DetectorName, redact } from '../../detectors/detectors.ts';
import { DotPath } from '../../patterns/dot-path.ts';

const ModifyConfig = z
  .strictObject({
    set: z.record(DotPath, z.json()).optional().meta({ title: 'Set', description: 'Values by dot path.' }),
    remove: z.array(DotPath).min(1).max(100).optional().meta({ title: 'Remove' }),
    redact: z.array(z.enum(DETECTOR_NAMES)).min(1).optional().meta({ title: 'Redact' }),
  })
  .refine(({ set, remove, redact }) => set !== undefined || remove !== undefined || redact !== undefined, {
    path: ['set'],
    message: 'is required, or "remove" or "redact"',
  });
type ModifyConfig = z.infer<typeof ModifyConfig>;

/** Lets the call proceed with changed arguments. Has the effect `allow` if they need no change. */
export const modifyArguments: DecisionAction<ModifyConfig> = {
  type: 'modify_arguments',
  title: 'Change the arguments',
  description: 'Sets or removes arguments, and redacts personal data and secrets in all of them.',
  config: ModifyConfig,
  example: { set: { 'options.dryRun': true }, redact: ['credit_card'] },
  phases: ['decision'],
  changesArguments: true,
  urgency: 'control',
  secrets: [],
  addresses: [],
  effect({ set = {}, remove = [], redact = [] }, args) {
    let changed = args;
    for (const path of remove) changed = removedAt(changed, path);
    for (const [path, value] of Object.entries(set)) {
      const next = setAt(changed, path, value);
      if (next === undefined) return { kind: 'missing' };
      changed = next;
    }
    if (redact.length > 0) changed = redactedText(redact, changed);
    return changed === args ? { kind: 'allow' } : { kind: 'modify', args: changed };
  },
};

/** The gateway truncates arguments that are nested deeper. */
const MAX_DEPTH = 64;

type Branch = Readonly<Record<string, unknown>> | readonly unknown[];

/**
 * Returns `root` with `value` at a dot path, copying only the objects along the path. Returns `root` itself if the
 * value is already there, and undefined if something along the path is neither an object nor a list.
 */
function setAt(root: unknown, path: string, value: unknown): unknown {
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
function removedAt(root: unknown, path: string): unknown {
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
function redactedText(names: readonly DetectorName[], root: unknown, depth = 0): unknown {
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
