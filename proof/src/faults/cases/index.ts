import type { Fault } from '../fault.ts';
import { AUDITOR } from './auditor.ts';
import { BROKEN_LINKS } from './broken-links.ts';
import { CLUSTER } from './cluster.ts';
import { CRASH_POINTS } from './crash-points.ts';
import { CUT_DECISIONS } from './cut-decisions.ts';
import { EMPTY_REDIS } from './empty-redis.ts';
import { FUZZ } from './fuzz.ts';
import { KILLED_SERVERS } from './killed-servers.ts';
import { KILLED_SERVICES } from './killed-services.ts';
import { LATE_SERVERS } from './late-servers.ts';
import { OVERLOAD } from './overload.ts';
import { PAUSE } from './pause.ts';
import { POISON } from './poison.ts';
import { POWER_CUT } from './power-cut.ts';
import { REPEATED } from './repeated.ts';
import { RESTARTS } from './restarts.ts';
import { SLOW_RECEIVER } from './slow-receiver.ts';
import { SOAK } from './soak.ts';
import { SPECS } from './specs.ts';
import { STREAM_FULL } from './stream-full.ts';
import { TENANTS } from './tenants.ts';
import { WRONG_CLOCKS } from './wrong-clocks.ts';

const ALL: readonly Fault[] = [
  ...KILLED_SERVICES,
  ...CRASH_POINTS,
  ...KILLED_SERVERS,
  ...EMPTY_REDIS,
  ...BROKEN_LINKS,
  ...LATE_SERVERS,
  ...REPEATED,
  ...POISON,
  ...STREAM_FULL,
  ...RESTARTS,
  ...SLOW_RECEIVER,
  ...TENANTS,
  ...CLUSTER,
  ...SPECS,
  ...POWER_CUT,
  ...SOAK,
  ...AUDITOR,
  ...PAUSE,
  ...OVERLOAD,
  ...FUZZ,
  ...WRONG_CLOCKS,
  ...CUT_DECISIONS,
];

/** Every fault, ordered by number. */
export const FAULTS: readonly Fault[] = [...ALL].sort((a, b) => a.id.localeCompare(b.id));
