/** A page of a list, which is asked for again with a lower limit where it is too long for an answer. */
interface FoundPage {
  /** The member of the answer that is the list. */
  readonly list: string;
  readonly limit: number;
  readonly ask: (limit: number) => Promise<object>;
  /** What an item is reduced to unless the caller wants it in full. */
  readonly summary?: (item: never) => unknown;
  /** Its page in the console. */
  readonly path: string;
}

interface FoundObject {
  readonly value: object;
  readonly path: string;
}

/** What an action has found or done, before it is made to fit. */
export type FoundData = FoundPage | FoundObject;

/** Of the fields of `item`, those that are named. */
export function pick<Item extends object, Key extends keyof Item>(
  item: Item,
  ...keys: readonly Key[]
): Pick<Item, Key> {
  return Object.fromEntries(keys.map((key) => [key, item[key]])) as Pick<Item, Key>;
}
