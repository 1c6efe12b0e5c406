import { type QueryClient, useQuery } from '@tanstack/react-query';
import { client } from '../api/client.ts';
import type { LightEntry } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';

const PAGE = 1_000;
/** Of the first read: most runs take one request. Later reads repeat only the last small page. */
const FIRST_PAGE = 6_000;
const MAX_ENTRIES = 20_000;
/** Full pages are read again after this time, for late entries. */
const SETTLED_MS = 30_000;

/** An entry of a run without contents, and its position in the timeline. */
export interface RunEntry extends LightEntry {
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
  readonly entries: readonly RunEntry[];
  /** More entries exist than are shown. */
  readonly truncated: boolean;
}

/** Reads the timeline of a run page by page; recently read pages are reused. */
async function readTimeline(id: string, known: Entries | undefined, signal: AbortSignal): Promise<Entries> {
  const limit = known === undefined ? FIRST_PAGE : PAGE;
  const pages = settledOf(known);
  let count = pages.reduce((sum, { entries }) => sum + entries.length, 0);
  let cursor = pages.at(-1)?.nextCursor;
  do {
    const page = await client.getLightRunTimeline({ params: { id }, query: { limit, cursor }, signal });
    pages.push({ readAt: Date.now(), entries: page.entries, nextCursor: page.nextCursor });
    count += page.entries.length;
    cursor = page.nextCursor;
  } while (cursor !== undefined && count < MAX_ENTRIES);
  const entries = pages.flatMap((page) => page.entries).map((entry, place) => ({ ...entry, runId: id, place }));
  return { pages, entries, truncated: cursor !== undefined };
}

function settledOf(known: Entries | undefined): LightPage[] {
  const full = (known?.pages ?? [])
    .filter(({ nextCursor }) => nextCursor !== undefined)
    .slice(0, MAX_ENTRIES / PAGE - 1);
  const old = full.findIndex(({ readAt }) => Date.now() - readAt > SETTLED_MS);
  return old < 0 ? full : full.slice(0, old);
}

function timelineQuery(id: string) {
  const queryKey = ['timeline', id];
  return {
    queryKey,
    queryFn: ({ signal, client: queries }: { readonly signal: AbortSignal; readonly client: QueryClient }) =>
      readTimeline(id, queries.getQueryData<Entries>(queryKey), signal),
  };
}

export function useTimeline(id: string) {
  return useQuery({ ...timelineQuery(id), enabled: id !== '' });
}

const runKey = (id: string) => ['run', id] as const;
const readRun = (id: string, signal: AbortSignal) => client.getRun({ params: { id }, signal });

export function useRunDetail(id: string) {
  return useRead(runKey(id), (signal) => readRun(id, signal));
}

/** Reads a run and its timeline beside the code of its page, not after it. */
export function prefetchRun(queries: QueryClient, id: string): void {
  void queries.prefetchQuery(timelineQuery(id));
  void queries.prefetchQuery({ queryKey: runKey(id), queryFn: ({ signal }) => readRun(id, signal) });
}

export function useRunTree(id: string) {
  return useRead(['run', 'tree', id], (signal) => client.getRunTree({ params: { id }, signal }));
}

/** The labels that stand on the tree of a run, and its topmost known run. */
export function useRunLabels(id: string) {
  return useRead(['labels', id], (signal) => client.getRunLabels({ params: { id }, signal }));
}
