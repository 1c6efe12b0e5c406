/** Common part of the input and the result of paged lists. */
interface Paged {
  readonly query?: { readonly cursor?: string; readonly offset?: number };
}
interface PageAnswer {
  readonly nextCursor?: string;
}

/**
 * Iterates over the pages of a list. Each page is requested after the previous one was consumed: `for await (const {
 * runs } of pages(client.listRuns, { query: { agentId } }))`.
 */
export async function* pages<List extends (input: never) => Promise<object>>(
  list: List,
  input: NonNullable<Parameters<List>[0]>,
): AsyncGenerator<Awaited<ReturnType<List>>> {
  const ask = list as unknown as (input: Paged) => Promise<Awaited<ReturnType<List>>>;
  let next: Paged = input;
  for (;;) {
    const page = await ask(next);
    yield page;
    const { nextCursor: cursor } = page as PageAnswer;
    if (cursor === undefined) return;
    // The cursor is the end of the last page; an offset would skip rows again.
    next = { ...next, query: { ...next.query, offset: undefined, cursor } };
  }
}
