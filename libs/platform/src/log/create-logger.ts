import { Writable } from 'node:stream';
import { visible, visibleJson } from '@agentlens/contracts/visible';
import { JWT, PRIVATE_KEY, SECRET_KEY } from '@agentlens/guardrails/detectors';
import type { LoggerService } from '@nestjs/common';
import { isSpanContextValid, trace } from '@opentelemetry/api';
import { type DestinationStream, destination, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';

/** Fields of our log entries; lines of other programs may lack them. */
interface LogEntry {
  readonly time?: string;
  readonly level?: string;
  readonly msg?: string;
  readonly err?: { readonly message?: string };
  readonly [field: string]: unknown;
}

/** Fields that only machines need. */
const NOT_SHOWN = new Set(['service', 'traceId', 'spanId']);
/** Fields are shortened to keep an entry on one line. */
const MAX_CHARS = 300;

/** Formats a JSON log entry as `12:00:01 WARN message (cause) field=value`; returns other text unchanged. */
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
  return whole.length > MAX_CHARS ? `${whole.slice(0, MAX_CHARS)}...` : whole;
}

function parsed(json: string): LogEntry | null {
  try {
    const entry: unknown = JSON.parse(json);
    return typeof entry === 'object' && entry !== null && 'level' in entry ? (entry as LogEntry) : null;
  } catch {
    return null;
  }
}

/** Fields that are never logged, up to two levels deep. */
const REDACTED_PATHS = ['authorization', 'apiKey', 'secret', 'password', 'token', 'headers'].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
]);

/** The public part of our keys may be shown. */
const OWN_KEY = /^agk_[a-z]+_([0-9A-Za-z]{8})_/;
/** The part of other keys that shows their kind. */
const PREFIX = /^(?:[A-Za-z]{2,5}[_.-]|.{4})/;

/** Bearer tokens, and passwords in URLs. */
const CARRIED: readonly [RegExp, string][] = [
  [/\bBearer +[^\s"\\]+/gi, 'Bearer ***'],
  [/(\w+:\/\/[^:@/\s"]+):[^@/\s"]+@/g, '$1:***@'],
];

/** Removes everything that looks like a secret; the public part of keys stays. */
export function withoutSecrets(text: string): string {
  const keyless = text.replace(PRIVATE_KEY, '[private_key]').replace(JWT, '[jwt]').replace(SECRET_KEY, masked);
  return CARRIED.reduce((rest, [pattern, instead]) => rest.replace(pattern, instead), keyless);
}

function masked(key: string): string {
  const id = OWN_KEY.exec(key)?.[1];
  return id === undefined ? `${PREFIX.exec(key)?.[0] ?? ''}***` : `agk_***_${id}_***`;
}

/** Fields of errors that help and are short. Drivers attach whole connections, and rows in `detail`, to others. */
const ERROR_FIELDS = ['code', 'errno', 'syscall', 'address', 'port', 'severity', 'schema', 'table', 'constraint'];

/** Type, message and stack with those of the causes, and the fields above. */
function errorEntry(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { type, message, stack } = stdSerializers.err(error);
  const fields = Object.entries(error).filter(
    ([name, value]) => ERROR_FIELDS.includes(name) && (typeof value === 'string' || typeof value === 'number'),
  );
  return { type, message, stack, ...Object.fromEntries(fields) };
}

interface LoggerOptions {
  readonly name: string;
  readonly level: string;
  /** Short lines on stderr for people; otherwise JSON on stdout. */
  readonly human?: boolean;
  readonly stream?: DestinationStream;
}

/** Creates a logger that adds the trace and removes secrets. */
export function createLogger(options: LoggerOptions): Logger {
  return pino(
    {
      base: { service: options.name },
      level: options.level,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED_PATHS, censor: '***' },
      mixin: traceIds,
      serializers: { err: errorEntry },
      // Names and texts of agents must not steer the terminal that shows the log.
      hooks: { streamWrite: (line) => visibleJson(withoutSecrets(line)) },
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

/** Sends Nest's messages to our log; those about modules and routes at `debug`. */
export function nestLogger(logger: Logger): LoggerService {
  return {
    log: (message: unknown, ...rest: unknown[]) => logger.debug({ nest: rest }, String(message)),
    verbose: (message: unknown, ...rest: unknown[]) => logger.trace({ nest: rest }, String(message)),
    debug: (message: unknown, ...rest: unknown[]) => logger.debug({ nest: rest }, String(message)),
    warn: (message: unknown, ...rest: unknown[]) => logger.warn({ nest: rest }, String(message)),
    error: (message: unknown, ...rest: unknown[]) => {
      // Also thrown, and explained by the caller of `listen`.
      const level = String(message).includes('EADDRINUSE') ? 'debug' : 'error';
      logger[level]({ nest: rest, err: asError(message) }, String(message));
    },
    fatal: (message: unknown, ...rest: unknown[]) =>
      logger.fatal({ nest: rest, err: asError(message) }, String(message)),
  };
}

function asError(message: unknown): Error | undefined {
  return message instanceof Error ? message : undefined;
}
