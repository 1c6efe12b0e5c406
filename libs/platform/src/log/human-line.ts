import { visible } from '@agentlens/contracts/visible';

/** What our own logger writes; everything may be missing in lines of others. */
interface LogEntry {
  readonly time?: string;
  readonly level?: string;
  readonly msg?: string;
  readonly err?: { readonly message?: string };
  readonly [field: string]: unknown;
}

/** For machines: where a line came from, and what it belongs to. */
const NOT_SHOWN = new Set(['service', 'traceId', 'spanId']);
/** What a field holds is often a list, and a line should be one. */
const MOST_CHARS = 300;

/** `12:00:01 WARN message (cause) field=value` from one JSON log entry; anything else passes as it is. */
export function humanLine(json: string): string {
  const entry = parsed(json);
  if (entry === null) return json;
  const { time, level, msg = '', err, ...fields } = entry;
  const cause = err?.message === undefined ? '' : ` (${err.message})`;
  const shown = Object.entries(fields).filter(([name, value]) => !NOT_SHOWN.has(name) && value !== undefined);
  const more = shown.map(([name, value]) => ` ${name}=${text(value)}`).join('');
  return `${visible(`${time?.slice(11, 19)} ${level?.toUpperCase()} ${msg}${cause}${more}`)}\n`;
}

function text(value: unknown): string {
  const whole = typeof value === 'string' && /^\S+$/.test(value) ? value : JSON.stringify(value);
  return whole.length > MOST_CHARS ? `${whole.slice(0, MOST_CHARS)}...` : whole;
}

function parsed(json: string): LogEntry | null {
  try {
    const entry: unknown = JSON.parse(json);
    return typeof entry === 'object' && entry !== null && 'level' in entry ? (entry as LogEntry) : null;
  } catch {
    return null;
  }
}
