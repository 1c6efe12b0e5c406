import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { client } from '../api/client.ts';
import type { Alert, Decision, StoredEvent } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { readDecision, readEvent, readMoment } from './read-entries.ts';
import type { Step } from './story.ts';
import type { RunEntry } from './use-run.ts';

/** A step with its complete entries. */
export interface Opened {
  readonly call: StoredEvent | undefined;
  readonly result: StoredEvent | undefined;
  readonly decision: Decision | undefined;
  readonly alert: Alert | undefined;
  /** Stored object, for a step that is not a call. */
  readonly entry: unknown;
}

/** Loads the selected step. While it changes, the previous contents stay visible. */
export function useOpened(step: Step | undefined) {
  const approval = step?.approval?.id;
  const alert = useRead(
    ['alerts', 'one', approval],
    (signal) => client.getAlert({ params: { id: approval ?? '' }, signal }),
    approval !== undefined,
  );
  const { call, result, decision, entry } = step ?? {};
  const read = useQuery({
    queryKey: ['opened', ...[call, result, decision, entry].map((one) => one && [one.runId, one.at, one.type, one.id])],
    queryFn: async ({ signal }) => {
      const event = (told: RunEntry | undefined) => told && readEvent(told, signal);
      const [called, ended, decided, moment] = await Promise.all([
        event(call),
        event(result),
        decision && readDecision(decision, signal),
        entry === undefined ? undefined : entry.type === 'event' ? readEvent(entry, signal) : readMoment(entry, signal),
      ]);
      // Queries must not return undefined.
      return { call: called ?? null, result: ended ?? null, decision: decided ?? null, entry: moment ?? null };
    },
    enabled: step !== undefined,
    placeholderData: keepPreviousData,
    // Stored entries do not change.
    staleTime: Number.POSITIVE_INFINITY,
  });
  const data: Opened | undefined =
    read.data === undefined || (approval !== undefined && alert.data === undefined && alert.error === null)
      ? undefined
      : {
          call: read.data.call ?? undefined,
          result: read.data.result ?? undefined,
          decision: read.data.decision ?? undefined,
          alert: alert.data,
          entry: read.data.entry ?? undefined,
        };
  return { data, error: read.error, refetch: read.refetch };
}
