import MiniSearch from 'minisearch';
import { AgentError } from '../core/agent-error.ts';
import { isPlainObject, type Json } from '../core/json.ts';
import type { DatabaseQuery, DatabaseRow, FieldCondition, FieldRange } from './database-client.ts';

const FIELD = /^[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*$/;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT_ROWS = 1_000;

/** The members of a field's path. @throws AgentError `invalid_input` */
export function pathOf(field: string): string[] {
  if (!FIELD.test(field))
    throw new AgentError(
      'invalid_input',
      `${JSON.stringify(field)} is not a valid field: use letters, digits and _, separated by dots`,
    );
  return field.split('.');
}

export function limitOf({ limit = DEFAULT_LIMIT }: DatabaseQuery): number {
  if (!Number.isInteger(limit) || limit < 1) throw new AgentError('invalid_input', 'limit is a number from 1');
  return Math.min(limit, MAX_LIMIT_ROWS);
}

export function isRange(condition: FieldCondition): condition is FieldRange {
  return typeof condition === 'object' && condition !== null;
}

function valueAt(value: Json, path: readonly string[]): Json | undefined {
  let current: Json | undefined = value;
  for (const part of path) {
    if (!isPlainObject(current) || !Object.hasOwn(current, part)) return undefined;
    // A member of JSON is JSON.
    current = (current as Readonly<Record<string, Json>>)[part];
  }
  return current;
}

export function matchesWhere(value: Json, where: DatabaseQuery['where'] = {}): boolean {
  return Object.entries(where).every(([field, condition]) => {
    const found = valueAt(value, pathOf(field));
    return isRange(condition) ? inRange(found, condition) : found === condition;
  });
}

function inRange(found: Json | undefined, { gt, gte, lt, lte, in: among }: FieldRange): boolean {
  if (found === undefined) return false;
  if (among !== undefined && !among.some((each) => each === found)) return false;
  const compare = (limit: string | number | undefined, test: (a: string | number, b: string | number) => boolean) =>
    limit === undefined || (typeof found === typeof limit && test(found as string | number, limit));
  return (
    compare(gt, (a, b) => a > b) &&
    compare(gte, (a, b) => a >= b) &&
    compare(lt, (a, b) => a < b) &&
    compare(lte, (a, b) => a <= b)
  );
}

/** Sorts as the query requires: rows without the field come last, ties are sorted by key. */
export function inQueryOrder<T extends Pick<DatabaseRow, 'key' | 'value'>>(
  rows: readonly T[],
  { orderBy }: DatabaseQuery,
): T[] {
  const byKey = (a: T, b: T) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  if (orderBy === undefined) return [...rows].sort(byKey);
  const path = pathOf(orderBy.field);
  const direction = orderBy.descending === true ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [left, right] = [valueAt(a.value, path), valueAt(b.value, path)];
    if (left === undefined || right === undefined) return left === right ? byKey(a, b) : left === undefined ? 1 : -1;
    if (left === right) return byKey(a, b);
    return direction * ((left ?? '') < (right ?? '') ? -1 : 1);
  });
}

const WORD = /[\p{L}\p{N}_]+/gu;
const MAX_WORDS = 32;

/** The words of a query: letters, digits and underscores, in lower case. Nothing else reaches a search engine. */
export function wordsOf(text: string): string[] {
  return [...new Set((text.toLowerCase().match(WORD) ?? []).slice(0, MAX_WORDS))];
}

/** All texts inside a value, for searching. Member names are excluded. */
export function textsOf(value: Json): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value)
    .map((member: Json) => textsOf(member))
    .filter((text) => text !== '')
    .join('\n');
}

export interface Searchable<T> {
  readonly item: T;
  readonly text: string;
}

/** Ranks by BM25 in this process, best first. */
export function searchTexts<T>(
  items: readonly Searchable<T>[],
  query: string,
  topK: number,
): { readonly item: T; readonly score: number }[] {
  const words = wordsOf(query);
  if (words.length === 0 || items.length === 0) return [];
  const index = new MiniSearch<{ id: number; text: string }>({
    fields: ['text'],
    tokenize: (text) => text.toLowerCase().match(WORD) ?? [],
  });
  index.addAll(items.map(({ text }, id) => ({ id, text })));
  return index
    .search(words.join(' '), { combineWith: 'OR' })
    .slice(0, topK)
    .flatMap(({ id, score }) => {
      const found = items[Number(id)];
      return found === undefined ? [] : [{ item: found.item, score }];
    });
}
