import type { Fault } from '../fault.ts';
import { KILLED_SERVICES } from './killed-services.ts';

const ALL: readonly Fault[] = [...KILLED_SERVICES];

/** Every fault, by its number. */
export const FAULTS: readonly Fault[] = [...ALL].sort((a, b) => a.id.localeCompare(b.id));
