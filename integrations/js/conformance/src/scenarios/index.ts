import type { Scenario } from '../scenario.ts';
import { APPROVALS } from './approvals.ts';
import { BEHAVIOUR } from './behaviour.ts';
import { DECISIONS } from './decisions.ts';
import { LINEAGE } from './lineage.ts';
import { OUTAGES } from './outages.ts';
import { STOPPING } from './stopping.ts';

export const SCENARIOS: readonly Scenario[] = [
  ...DECISIONS,
  ...BEHAVIOUR,
  ...LINEAGE,
  ...STOPPING,
  ...APPROVALS,
  ...OUTAGES,
];
