import type { AlertMoment, TimelineEntry } from '@agentlens/operations';

/** Position and source of a timeline entry. `place` orders entries of the same instant. */
export interface TimelineKey {
  readonly at: string;
  readonly place: string;
  readonly type: TimelineEntry['type'];
  readonly id: string;
  readonly moment: AlertMoment | null;
}

export interface TimelineRun {
  readonly tenantId: string;
  readonly runId: string;
}
