import {
  exportAnswer,
  logsFromJson,
  logsFromProtobuf,
  OTLP_LIMITS,
  type OtlpFormat,
  type OtlpSignal,
  type PartialSuccess,
  statusAnswer,
  TooMuchOtlp,
  tracesFromJson,
  tracesFromProtobuf,
  UndecodableOtlp,
} from '@agentlens/otlp';
import { exportLogs, exportMetrics, exportTraces, type Operation } from '@agentlens/operations';
import {
  callerOf,
  type Platform,
  type PlatformConfig,
  ProblemException,
  ProblemFilter,
  port,
  type RouteSettings,
  readInSlices,
  routeOf,
} from '@agentlens/platform';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { encodingOf, formatOf, inflated, requireReadable, tooLarge } from './otlp-body.ts';
import { OtlpIngestor, type OtlpRequest } from './otlp-ingestor.ts';
import { OtlpMetrics } from './otlp-metrics.ts';

const ALLOWED_HEADERS = 'content-type, content-encoding, authorization, x-api-key, x-agentlens-agent';
const ANSWER_KEPT_S = 600;

/**
 * Allows browsers on these origins to send to these paths. Other origins get no CORS answer, nor does any if none is
 * configured.
 */
function allowOrigins(scope: FastifyInstance, paths: readonly string[], origins: readonly string[]): void {
  if (origins.length === 0) return;
  scope.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers;
    if (origin === undefined || !origins.includes(origin)) return;
    reply.headers({ 'access-control-allow-origin': origin, vary: 'origin' });
  });
  for (const path of paths) {
    scope.options(path, { config: { isPublic: true } }, (_request, reply) =>
      reply
        .status(204)
        .headers({
          'access-control-allow-methods': 'POST',
          'access-control-allow-headers': ALLOWED_HEADERS,
          'access-control-max-age': String(ANSWER_KEPT_S),
        })
        .send(),
    );
  }
}

/** Estimated compression ratio of text. The actual size is known after decompression. */
const INFLATION = 8;

/** What the headers of a request say about its body. */
interface DeclaredBody {
  /** Undefined if the body is chunked. */
  readonly bytes: number | undefined;
  readonly isCompressed: boolean;
}

/**
 * Limits how much of one tenant's bodies is in memory. Bodies can be large and are held while they are read. One body
 * is always admitted; more are admitted while their total is within the limit for one.
 */
export class BodyMemory {
  readonly #held = new Map<string, number>();

  constructor(private readonly maxBytes: number) {}

  /** Returns a release callback; undefined if there is no room. */
  take(tenantId: string, { bytes, isCompressed }: DeclaredBody): (() => void) | undefined {
    const expected = bytes === undefined ? this.maxBytes : bytes * (isCompressed ? INFLATION : 1);
    const cost = Math.min(this.maxBytes, expected);
    const held = this.#held.get(tenantId) ?? 0;
    if (held > 0 && held + cost > this.maxBytes) return undefined;
    this.#held.set(tenantId, held + cost);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.#held.get(tenantId) ?? 0) - cost;
      if (left > 0) this.#held.set(tenantId, left);
      else this.#held.delete(tenantId);
    };
  }
}

/** Exporters give up after about 10 s in total, so a longer wait would lose the batch. */
const MAX_WAIT_S = 3;
const CONTENT_TYPES = { protobuf: 'application/x-protobuf', json: 'application/json' } as const;
const ROUTES: readonly (readonly [OtlpSignal, Operation])[] = [
  ['traces', exportTraces],
  ['logs', exportLogs],
  ['metrics', exportMetrics],
];

/**
 * Routes for OpenTelemetry exporters: `POST /v1/traces`, `/v1/logs`, `/v1/metrics`. Plain Fastify routes in their own
 * scope, because bodies are read and errors are answered in OTLP formats.
 */
@Injectable()
export class OtlpRoutes implements OnModuleInit {
  readonly #memory: BodyMemory;
  readonly #filter: ProblemFilter;

  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(OtlpIngestor) private readonly ingestor: OtlpIngestor,
    @Inject(OtlpMetrics) private readonly metrics: OtlpMetrics,
    @Inject(port('config')) private readonly config: PlatformConfig,
    @Inject(port('logger')) logger: Platform['logger'],
  ) {
    this.#memory = new BodyMemory(config.otlp.bodyLimitBytes);
    this.#filter = new ProblemFilter(logger);
  }

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    void fastify.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
      scope.setErrorHandler((error, request, reply) => this.#refuse(error, request, reply));
      scope.addHook('onRequest', async (request, reply) => this.#makeRoom(request, reply));
      allowOrigins(
        scope,
        ROUTES.map(([, { path }]) => path),
        this.config.otlp.corsOrigins,
      );
      const settings: RouteSettings = {
        ...{ takesKeyHeader: true, decodesBodies: true, takesBatches: true },
        bodyLimitBytes: this.config.otlp.bodyLimitBytes,
      };
      for (const [signal, operation] of ROUTES) {
        scope.route({
          ...routeOf(operation, settings),
          handler: (request, reply) => this.#take(signal, request, reply),
        });
      }
    });
  }

  /** Runs before the body is read. @throws ProblemException 415, 503 */
  #makeRoom(request: FastifyRequest, reply: FastifyReply): void {
    if (request.method !== 'POST') return;
    requireReadable(request);
    const length = request.headers['content-length'];
    const body = {
      bytes: length === undefined ? undefined : Number(length),
      isCompressed: encodingOf(request) === 'gzip',
    };
    const release = this.#memory.take(callerOf(request).tenantId, body);
    if (release === undefined) {
      throw new ProblemException(503, 'Other large requests of this tenant are being read', {
        hint: 'Send the same request again.',
        headers: { 'retry-after': '1' },
      });
    }
    reply.raw.once('close', release);
  }

  async #take(signal: OtlpSignal, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const format = formatOf(request) ?? 'json';
    // Metrics are not read: no rule uses them, and an error would fill the logs of programs that send them by default.
    const partial = signal === 'metrics' ? undefined : await this.#takeItems(signal, format, request, reply);
    return reply.type(CONTENT_TYPES[format]).send(exportAnswer(signal, format, partial));
  }

  async #takeItems(
    signal: Exclude<OtlpSignal, 'metrics'>,
    format: OtlpFormat,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<PartialSuccess | undefined> {
    const sent = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    // The body may be large, so it is released as soon as it is parsed.
    request.body = undefined;
    const body = await inflated(request, sent, this.config.otlp.bodyLimitBytes);
    request.bodyBytes = body.length;
    if (format === 'json' && body.length > OTLP_LIMITS.jsonBytes) throw tooLarge(OTLP_LIMITS.jsonBytes);
    const agent = request.headers['x-agentlens-agent'];
    const from: OtlpRequest = {
      caller: callerOf(request),
      agentId: typeof agent === 'string' ? agent : undefined,
      reply,
    };
    if (signal === 'traces') {
      const steps = format === 'json' ? tracesFromJson(body.toString()) : tracesFromProtobuf(body);
      return this.ingestor.takeTraces(await readInSlices(steps), from);
    }
    const steps = format === 'json' ? logsFromJson(body.toString()) : logsFromProtobuf(body);
    return this.ingestor.takeLogs(await readInSlices(steps), from);
  }

  /**
   * Answers with a google.rpc.Status. Unexpected errors become 503, because exporters drop a batch on 500 and sending
   * it again is harmless.
   */
  #refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const problem = this.#filter.problemOf(asProblem(error), request);
    const status = problem.getStatus() === 500 ? 503 : problem.getStatus();
    const format = formatOf(request) ?? 'json';
    const { hint } = problem.getResponse() as { hint?: string };
    const message = hint === undefined ? problem.message : `${problem.message}. ${hint}`;
    this.metrics.refused(request.routeOptions.url ?? '', status);
    void reply
      .status(status)
      .headers({ ...problem.headers, ...(status === 429 || status === 503 ? retryAfter(problem) : {}) })
      .type(CONTENT_TYPES[format])
      .send(statusAnswer(format, status, message));
  }
}

function asProblem(error: unknown): unknown {
  if (error instanceof UndecodableOtlp) return new ProblemException(400, error.message);
  return error instanceof TooMuchOtlp ? new ProblemException(413, error.message) : error;
}

function retryAfter({ headers }: ProblemException): Record<string, string> {
  const seconds = Math.ceil(Number(headers['retry-after'] ?? 1));
  return { 'retry-after': String(Math.min(MAX_WAIT_S, Math.max(1, seconds || 1))) };
}
