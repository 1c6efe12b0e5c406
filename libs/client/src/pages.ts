/** What every paged list takes and answers, whatever else. */
interface Paged {
  readonly query?: { readonly cursor?: string; readonly offset?: number };
}
interface PageAnswer {
  readonly nextCursor?: string;
}

/**
 * Every page of a list, each asked for when the one before is done with:
 * `for await (const { runs } of pages(client.listRuns, { query: { agentId } }))`.
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
    // A cursor is where the last page ended: an offset would skip again.
    next = { ...next, query: { ...next.query, offset: undefined, cursor } };
  }
}
