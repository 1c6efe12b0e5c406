import { useQuery } from '@tanstack/react-query';
import { client } from '../api/client.ts';
import type { TimelineEntry } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';

const PAGE = 500;
const MOST_ENTRIES = 10_000;

export interface Entries {
  readonly entries: readonly TimelineEntry[];
  /** There are more than are shown. */
  readonly truncated: boolean;
}

/** The whole story of a run, page by page. */
async function readTimeline(id: string, signal: AbortSignal): Promise<Entries> {
  const entries: TimelineEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.getRunTimeline({ params: { id }, query: { limit: PAGE, cursor }, signal });
    entries.push(...page.entries);
    cursor = page.nextCursor;
  } while (cursor !== undefined && entries.length < MOST_ENTRIES);
  return { entries, truncated: cursor !== undefined };
}

export function useTimeline(id: string) {
  return useRead(['timeline', id], (signal) => readTimeline(id, signal));
}

export function useRunDetail(id: string) {
  return useRead(['run', id], (signal) => client.getRun({ params: { id }, signal }));
}

export function useRunTree(id: string) {
  return useRead(['run', 'tree', id], (signal) => client.getRunTree({ params: { id }, signal }));
}

export function useLimits() {
  return useQuery({
    queryKey: ['limits'],
    queryFn: ({ signal }) => client.getBreakerLimits({ signal }),
    staleTime: 60_000,
  });
}
