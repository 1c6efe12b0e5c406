/** `12:00:01 WARN message (cause)` from one JSON log entry; anything else passes as it is. */
export function humanLine(json: string): string {
  const entry = parsed(json);
  if (entry === null) return json;
  const time = String(entry.time ?? '').slice(11, 19);
  const level = String(entry.level ?? '').toUpperCase();
  const cause = causeOf(entry);
  return `${time} ${level} ${String(entry.msg ?? '')}${cause === '' ? '' : ` (${cause})`}\n`;
}

function causeOf(entry: Readonly<Record<string, unknown>>): string {
  const error = entry.err as { message?: unknown } | undefined;
  return String(error?.message ?? entry.reason ?? '');
}

function parsed(json: string): Record<string, unknown> | null {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
