import type { AlertMoment, TimelineEntry } from '@agentlens/operations';

/** Where an entry stands, and what it is of. `place` orders entries of one instant. */
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
