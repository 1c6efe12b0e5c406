import { useQuery } from '@tanstack/react-query';
import { client } from '../api/client.ts';
import type { LightEntry } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';

const PAGE = 1_000;
const MOST_ENTRIES = 20_000;
/** A page that is full is read again after this long, for what came late to it. */
const SETTLED_MS = 30_000;

/** One thing of a run without what it said, and its place in the timeline. */
export interface Told extends LightEntry {
  readonly runId: string;
  readonly place: number;
}

interface LightPage {
  readonly readAt: number;
  readonly entries: readonly LightEntry[];
  readonly nextCursor: string | undefined;
}

export interface Entries {
  readonly pages: readonly LightPage[];
  readonly entries: readonly Told[];
  /** There are more than are shown. */
  readonly truncated: boolean;
}

/** The story of a run, page by page; where it was read a moment ago, from its last page on. */
async function readTimeline(id: string, known: Entries | undefined, signal: AbortSignal): Promise<Entries> {
  const pages = settledOf(known);
  let count = pages.reduce((sum, { entries }) => sum + entries.length, 0);
  let cursor = pages.at(-1)?.nextCursor;
  do {
    const page = await client.getLightRunTimeline({ params: { id }, query: { limit: PAGE, cursor }, signal });
    pages.push({ readAt: Date.now(), entries: page.entries, nextCursor: page.nextCursor });
    count += page.entries.length;
    cursor = page.nextCursor;
  } while (cursor !== undefined && count < MOST_ENTRIES);
  const entries = pages.flatMap((page) => page.entries).map((entry, place) => ({ ...entry, runId: id, place }));
  return { pages, entries, truncated: cursor !== undefined };
}

function settledOf(known: Entries | undefined): LightPage[] {
  const full = (known?.pages ?? [])
    .filter(({ nextCursor }) => nextCursor !== undefined)
    .slice(0, MOST_ENTRIES / PAGE - 1);
  const old = full.findIndex(({ readAt }) => Date.now() - readAt > SETTLED_MS);
  return old < 0 ? full : full.slice(0, old);
}

export function useTimeline(id: string) {
  const queryKey = ['timeline', id];
  return useQuery({
    queryKey,
    queryFn: ({ signal, client: queries }) => readTimeline(id, queries.getQueryData<Entries>(queryKey), signal),
    enabled: id !== '',
  });
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
