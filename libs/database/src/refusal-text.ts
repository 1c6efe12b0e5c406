/** What an error of `pg` tells of the place: names of the schema. */
interface Refusal {
  readonly code: string;
  readonly table?: unknown;
  readonly column?: unknown;
  readonly constraint?: unknown;
}

/**
 * Why Postgres refused a row, for people who look for the fault later: the SQLSTATE and, where Postgres names one, the
 * constraint or column. Never its message or detail: they quote what the row holds.
 */
export function refusalText({ code, table, column, constraint }: Refusal): string {
  const state = `SQLSTATE ${code}`;
  const of = typeof table === 'string' ? ` of ${table}` : '';
  if (typeof constraint === 'string') return `${state} (constraint ${constraint}${of})`;
  return typeof column === 'string' ? `${state} (column ${column}${of})` : state;
}
