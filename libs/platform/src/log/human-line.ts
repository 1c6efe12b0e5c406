/** What our own logger writes; everything may be missing in lines of others. */
interface LogEntry {
  readonly time?: string;
  readonly level?: string;
  readonly msg?: string;
  readonly reason?: string;
  readonly err?: { readonly message?: string };
}

/** `12:00:01 WARN message (cause)` from one JSON log entry; anything else passes as it is. */
export function humanLine(json: string): string {
  const entry = parsed(json);
  if (entry === null) return json;
  const cause = entry.err?.message ?? entry.reason;
  const line = `${entry.time?.slice(11, 19)} ${entry.level?.toUpperCase()} ${entry.msg ?? ''}`;
  return `${line}${cause === undefined ? '' : ` (${cause})`}\n`;
}

function parsed(json: string): LogEntry | null {
  try {
    return JSON.parse(json) as LogEntry;
  } catch {
    return null;
  }
}
