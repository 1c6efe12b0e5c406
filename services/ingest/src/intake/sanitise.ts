import type { JsonObject, ProblemDetail } from '@agentlens/contracts';
import { LIMITS } from './limits.ts';

type Container = Record<string, unknown> | unknown[];

/** A place in the event, linked to its parent, so that a path is only built if something is wrong with it. */
interface Place {
  readonly value: Container;
  readonly key: string;
  readonly parent: Place | undefined;
  readonly depth: number;
}

/** The result of `sanitise`. */
export interface Sanitised {
  /** The first problem that prevents storing the value; undefined if there is none. */
  readonly problem?: ProblemDetail;
  /** The first places that were repaired. */
  readonly repaired: readonly ProblemDetail[];
}

const SAFE: Sanitised = { repaired: [] };
/** Number of repairs that are reported; further ones are silent. */
const MAX_NAMED_REPAIRS = 5;

/**
 * Makes a parsed JSON value safe to store, without recursion. Repairs NUL characters and lone surrogates to U+FFFD in
 * place. Reports what would corrupt a stored batch (depth, infinite numbers, `__proto__`, excessive sizes) with its
 * path.
 */
export function sanitise(event: unknown): Sanitised {
  return isSafe(event, 0) ? SAFE : repairAll(event);
}

/** Fast check that almost every event passes. The depth limit bounds its recursion. */
function isSafe(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return value.length <= LIMITS.stringChars && isSafeText(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= LIMITS.depth) return false;
  return Array.isArray(value) ? areSafeItems(value, depth + 1) : areSafeMembers(value as JsonObject, depth + 1);
}

function areSafeItems(items: readonly unknown[], depth: number): boolean {
  for (let index = 0; index < items.length; index++) if (!isSafe(items[index], depth)) return false;
  return true;
}

function areSafeMembers(members: JsonObject, depth: number): boolean {
  const keys = Object.keys(members);
  if (keys.length > LIMITS.keysPerObject) return false;
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] ?? '';
    if (key === '__proto__' || key.length > LIMITS.keyChars || !isSafeText(key)) return false;
    if (!isSafe(members[key], depth)) return false;
  }
  return true;
}

function isSafeText(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** The slow path: repairs what can be repaired and reports the rest. */
function repairAll(event: unknown): Sanitised {
  const repaired: ProblemDetail[] = [];
  if (typeof event !== 'object' || event === null) return { repaired };
  const open: Place[] = [{ value: event as Container, key: '', parent: undefined, depth: 1 }];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const problem = Array.isArray(place.value)
      ? checkItems(place, place.value, open, repaired)
      : checkMembers(place, place.value, open, repaired);
    if (problem !== undefined) return { problem, repaired };
  }
  return { repaired };
}

function checkItems(
  place: Place,
  items: unknown[],
  open: Place[],
  repaired: ProblemDetail[],
): ProblemDetail | undefined {
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    const wrong = wrongWith(item) ?? push(open, item, String(index), place);
    if (wrong !== undefined) return at(place, String(index), wrong);
    if (typeof item !== 'string' || isSafeText(item)) continue;
    items[index] = repairedText(item);
    note(repaired, place, String(index));
  }
  return undefined;
}

function checkMembers(
  place: Place,
  members: Record<string, unknown>,
  open: Place[],
  repaired: ProblemDetail[],
): ProblemDetail | undefined {
  const keys = Object.keys(members);
  if (keys.length > LIMITS.keysPerObject) {
    return at(place.parent, place.key, `has ${keys.length} keys; an object may have ${LIMITS.keysPerObject}`);
  }
  for (const key of keys) {
    const member = members[key];
    const wrong = wrongWithKey(key) ?? wrongWith(member) ?? push(open, member, key, place);
    if (wrong !== undefined) return at(place, key, wrong);
    const isSafeMember = typeof member !== 'string' || isSafeText(member);
    if (!isSafeMember) members[key] = repairedText(member);
    if (!isSafeMember || !isSafeText(key)) note(repaired, place, repairedText(key));
    if (!isSafeText(key)) rename(members, key, repairedText(key));
  }
  return undefined;
}

function repairedText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\uFFFD');
}

function note(repaired: ProblemDetail[], place: Place, key: string): void {
  if (repaired.length >= MAX_NAMED_REPAIRS) return;
  repaired.push(at(place, key, 'held characters that cannot be stored (NUL or half an emoji); they became U+FFFD'));
}

function push(open: Place[], value: unknown, key: string, parent: Place): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (parent.depth >= LIMITS.depth) return `is nested more than ${LIMITS.depth} levels deep; flatten it`;
  open.push({ value: value as Container, key, parent, depth: parent.depth + 1 });
  return undefined;
}

function wrongWithKey(key: string): string | undefined {
  if (key === '__proto__') return 'is a key that is refused; rename it';
  return key.length > LIMITS.keyChars ? `is a key of more than ${LIMITS.keyChars} characters; shorten it` : undefined;
}

function wrongWith(value: unknown): string | undefined {
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : 'is a number beyond double precision; send it as a text';
  }
  if (typeof value !== 'string') return undefined;
  if (value.length <= LIMITS.stringChars) return undefined;
  return `has ${value.length} characters; a text may have ${LIMITS.stringChars}`;
}

/** A repaired key that becomes equal to another one is renamed, so that it never hides a good one. */
function rename(members: Record<string, unknown>, from: string, to: string): void {
  const value = members[from];
  delete members[from];
  if (!Object.hasOwn(members, to)) members[to] = value;
}

const SHOWN_KEY_CHARS = 64;

function at(parent: Place | undefined, key: string, message: string): ProblemDetail {
  const path = key === '' ? [] : [shown(key)];
  for (let place = parent; place?.parent !== undefined; place = place.parent) path.unshift(shown(place.key));
  return { path: path.join('.'), message };
}

function shown(key: string): string {
  return key.length > SHOWN_KEY_CHARS ? `${key.slice(0, SHOWN_KEY_CHARS).toWellFormed()}…` : key.toWellFormed();
}
