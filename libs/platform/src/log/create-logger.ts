import { Writable } from 'node:stream';
import { visibleJson } from '@agentlens/contracts/visible';
import { isSpanContextValid, trace } from '@opentelemetry/api';
import { type DestinationStream, destination, type Logger, pino, stdTimeFunctions } from 'pino';
import { humanLine } from './human-line.ts';
import { REDACTED_PATHS, withoutSecrets } from './redact.ts';

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
