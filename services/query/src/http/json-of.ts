import type { Page } from './page.ts';

declare const of: unique symbol;

/** The JSON text of a `T`. It is answered as it is: what the database can write is not parsed only to be written again. */
export type JsonOf<T> = string & { readonly [of]?: T };

export function jsonOf<T>(value: T): JsonOf<T> {
  return JSON.stringify(value);
}

/** A page of written items, listed under `name` beside the page's other members. */
export function pageJson<N extends string, T, P extends Page<JsonOf<T>>>(
  name: N,
  { items, ...rest }: P,
): JsonOf<Omit<P, 'items'> & Record<N, readonly T[]>> {
  return `{${JSON.stringify(name)}:[${items.join(',')}],${JSON.stringify(rest).slice(1)}`;
}
