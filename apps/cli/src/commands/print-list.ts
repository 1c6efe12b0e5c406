import type { CommandContext } from '../context.ts';
import { withProgress } from '../output/output.ts';
import type { Column } from '../output/table.ts';

/** Maximum page size of the API. */
export const PAGE = 200;

export interface ListPrint<Page, Item> {
  readonly pages: AsyncIterable<Page>;
  readonly itemsOf: (page: Page) => readonly Item[];
  readonly columns: readonly Column<Item>[];
  /** Text printed for an empty list. */
  readonly none: string;
  readonly limit: number;
}

/** Prints a paged list up to `limit` and notes if there are more items. */
export async function printList<Page extends { readonly nextCursor?: string }, Item>(
  { output }: CommandContext,
  { pages, itemsOf, columns, none, limit }: ListPrint<Page, Item>,
): Promise<void> {
  const items: Item[] = [];
  let more = false;
  const read = async () => {
    for await (const page of pages) {
      items.push(...itemsOf(page));
      if (items.length < limit) continue;
      more = items.length > limit || page.nextCursor !== undefined;
      return;
    }
  };
  await withProgress(output, () => `reading, ${items.length} so far`, read());
  output.printTable(items.slice(0, limit), columns, none);
  if (more) output.note(`There is more. To read further: --limit ${limit * 4}`);
}
