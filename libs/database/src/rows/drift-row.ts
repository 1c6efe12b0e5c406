import type { FieldChange, RuleDrift } from '@agentlens/contracts';
import type { Selectable } from 'kysely';
import type { RuleVersionsTable } from '../schema/tables.ts';

/** A version that a ruleset did not make, as its row says it. */
export function driftFromRow(row: Selectable<RuleVersionsTable>): RuleDrift {
  return {
    version: row.version,
    changedAt: row.changed_at,
    ...(row.changed_by === null ? {} : { changedBy: row.changed_by }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    changes: row.changes as FieldChange[],
  };
}
