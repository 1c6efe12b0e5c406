import { useInfiniteQuery } from '@tanstack/react-query';
import { useCallback } from 'react';

/** A list that is loaded page by page. */
export function usePages<A extends { readonly nextCursor?: string | undefined }, T>(
  key: readonly [string, ...unknown[]],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<A>,
  itemsOf: (answer: A) => readonly T[],
) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (answer: A) => answer.nextCursor,
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const more = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return { ...query, rows: query.data?.pages.flatMap(itemsOf), more };
}
