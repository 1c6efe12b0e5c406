import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { client } from '../api/client.ts';
import { isSearchable } from '../api/searchable.ts';
import { useSettled } from '../ui/use-settled.ts';
import type { Step } from './story.ts';

export const isError = ({ state }: Step) => state === 'failed';
export const isBlocked = ({ state }: Step) => state === 'blocked' || state === 'waiting';
/** An order or a breaker, which may be why the run stopped. */
export const isStop = ({ kind }: Step) => kind === 'order' || kind === 'breaker';
const isCall = ({ kind }: Step) => kind === 'tool' || kind === 'model';
export const isProblem = (step: Step) => isError(step) || isBlocked(step);

/** Which steps are shown. */
export const STEP_FILTERS = [
  { id: 'problems', name: 'problems', test: isProblem },
  { id: 'errors', name: 'errors', test: isError },
  { id: 'blocked', name: 'blocked', test: isBlocked },
  { id: 'calls', name: 'calls', test: isCall },
] as const;

const SETTLE_MS = 200;
const MAX_HITS = 100;

/** Ids of calls and events of a run whose contents have a text, from the server. */
function useHits(runId: string, startedAt: string, text: string) {
  return useQuery({
    queryKey: ['search', 'run', runId, text],
    queryFn: async ({ signal }) => {
      const { hits } = await client.searchText({ query: { text, runId, from: startedAt, limit: MAX_HITS }, signal });
      return new Set(hits.flatMap(({ callId, eventId }) => [...(callId === undefined ? [] : [callId]), eventId]));
    },
    enabled: isSearchable(text),
    placeholderData: (before) => before,
  });
}

/** The steps that match the filter and the text in their name or contents. */
export function useFilteredSteps(
  run: { readonly id: string; readonly startedAt: string },
  steps: readonly Step[],
  show: string | undefined,
  text: string | undefined,
): readonly Step[] {
  const wanted = (text ?? '').trim().toLowerCase();
  const { data: hits } = useHits(run.id, run.startedAt, useSettled(wanted, SETTLE_MS));
  const test = STEP_FILTERS.find(({ id }) => id === show)?.test;
  return useMemo(() => {
    if (test === undefined && wanted === '') return steps;
    const has = ({ id, name, detail, call, result, entry }: Step) =>
      name.toLowerCase().includes(wanted) ||
      detail.toLowerCase().includes(wanted) ||
      [id, call?.id, result?.id, entry?.id].some((one) => one !== undefined && hits?.has(one));
    return steps.filter((step) => (test === undefined || test(step)) && (wanted === '' || has(step)));
  }, [steps, test, wanted, hits]);
}
