import { Writable } from 'node:stream';
import { JWT, PRIVATE_KEY, SECRET_KEY } from '@agentlens/guardrails/detectors';
import { isSpanContextValid, trace } from '@opentelemetry/api';
import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';

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
  return `${time?.slice(11, 19)} ${level?.toUpperCase()} ${msg}${cause}${more}\n`;
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

/** Members that are never written, wherever they stand in a log entry up to two levels deep. */
const REDACTED_PATHS = ['authorization', 'apiKey', 'secret', 'password', 'token', 'headers'].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
]);

/** The public part of our own keys says whose they are. */
const OWN_KEY = /^agk_[a-z]+_([0-9A-Za-z]{8})_/;
/** What says the kind of any other key. */
const PREFIX = /^(?:[A-Za-z]{2,5}[_.-]|.{4})/;

/** Bearer tokens, passwords inside URLs. */
const CARRIED: readonly [RegExp, string][] = [
  [/\bBearer +[^\s"\\]+/gi, 'Bearer ***'],
  [/(\w+:\/\/[^:@/\s"]+):[^@/\s"]+@/g, '$1:***@'],
];

/** The text without anything that looks like a secret; what a key belongs to stays readable. */
export function withoutSecrets(text: string): string {
  const keyless = text.replace(PRIVATE_KEY, '[private_key]').replace(JWT, '[jwt]').replace(SECRET_KEY, masked);
  return CARRIED.reduce((rest, [pattern, instead]) => rest.replace(pattern, instead), keyless);
}

function masked(key: string): string {
  const id = OWN_KEY.exec(key)?.[1];
  return id === undefined ? `${PREFIX.exec(key)?.[0] ?? ''}***` : `agk_***_${id}_***`;
}

interface LoggerOptions {
  readonly name: string;
  readonly level: string;
  /** One short line per entry on stderr, for people; otherwise JSON on stdout, for machines. */
  readonly human?: boolean;
  readonly stream?: DestinationStream;
}

/** Every entry carries the trace it belongs to, and no secret. */
export function createLogger(options: LoggerOptions): Logger {
  return pino(
    {
      base: { service: options.name },
      level: options.level,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED_PATHS, censor: '***' },
      mixin: traceIds,
      hooks: { streamWrite: withoutSecrets },
    },
    options.stream ?? (options.human === true ? humanStream() : destination({ dest: 1, sync: false })),
  );
}

function traceIds(): object {
  const context = trace.getActiveSpan()?.spanContext();
  if (context === undefined || !isSpanContextValid(context)) return {};
  return { traceId: context.traceId, spanId: context.spanId };
}

function humanStream(): Writable {
  return new Writable({
    decodeStrings: false,
    write(line: string | Buffer, _encoding, done) {
      process.stderr.write(humanLine(String(line)), () => done());
    },
  });
}
