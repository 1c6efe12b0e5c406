import MiniSearch from 'minisearch';
import type { Json } from '../core/json.ts';

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
