import type { IncomingHttpHeaders } from 'node:http';
import { Transform } from 'node:stream';
import {
  type Endpoint,
  findEndpoint,
  type GatewayPath,
  type ModelDialect,
  type ModelRefusal,
  pickQuery,
  pickRequestHeaders,
  readGatewayPath,
  SERVED,
  writeRefusal,
} from '@agentlens/model-api';
import { type Clock, type KeyDirectory, type Platform, port } from '@agentlens/platform';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest, RequestPayload } from 'fastify';
import { identifyCaller, type ModelCaller } from './callers/identify.ts';
import { AnswerWriter, ClientGone } from './calls/answer-writer.ts';
import { CallLimits, type OpenCall } from './calls/call-limits.ts';
import { type Connection, Connections } from './connections/connections.ts';
import { FreeCalls } from './free-calls.ts';
import { ModelCallMetrics } from './model-call-metrics.ts';
import { ModelCallPipeline } from './pipeline.ts';
import { bodyTooLarge, MAX_BODY_BYTES, readBody } from './providers/compression.ts';
import { RefusedCall } from './refused-call.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** A request whose head was accepted. */
interface AcceptedHead {
  readonly path: GatewayPath;
  readonly caller: ModelCaller;
  readonly connection: Connection;
  readonly endpoint: Endpoint;
  readonly open: OpenCall;
}

/**
 * Routes of the model gateway: `/gw/<connection>/...`. Plain Fastify routes in their own scope, because keys come in the
 * headers of each SDK, bodies are kept as bytes, and errors are written as the provider would write them.
 */
@Injectable()
export class GatewayRoutes implements OnModuleInit {
  readonly #accepted = new WeakMap<FastifyRequest, AcceptedHead>();
  /** Of requests whose connection is known, also of refused ones. */
  readonly #dialects = new WeakMap<FastifyRequest, ModelDialect>();

  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(Connections) private readonly connections: Connections,
    @Inject(CallLimits) private readonly limits: CallLimits,
    @Inject(ModelCallPipeline) private readonly pipeline: ModelCallPipeline,
    @Inject(FreeCalls) private readonly freeCalls: FreeCalls,
    @Inject(ModelCallMetrics) private readonly metrics: ModelCallMetrics,
    @Inject(port('keys')) private readonly keys: KeyDirectory,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
  ) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    void fastify.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
      scope.setErrorHandler((error, request, reply) => this.#refuse(error, request, reply));
      scope.addHook('onRequest', (request, reply) => this.#accept(request, reply));
      scope.addHook('preParsing', async (request, _reply, payload) => this.#count(request, payload));
      scope.route({
        method: METHODS,
        url: '/gw/*',
        config: { isPublic: true, decodesBodies: true, bodyLimitBytes: MAX_BODY_BYTES, endsItself: true },
        handler: (request, reply) => this.#answer(request, reply),
      });
    });
  }

  /** Checks everything that the head of the request says, before its body is read. @throws RefusedCall */
  async #accept(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { headers, method, raw } = request;
    const url = raw.url ?? '';
    const path = readGatewayPath(url);
    if (path === undefined) {
      const message = 'The path must be /gw/<connection>/..., without "..", "//" and encoded slashes.';
      throw new RefusedCall('invalid', 'invalid_path', message);
    }
    refuseBrowsers(headers);
    if (path.rest === '' && method === 'HEAD') return;
    const caller = await identifyCaller(this.keys, headers, url, path);
    const { tenantId } = caller.caller;
    const connection = await this.connections.find(tenantId, path.connection);
    this.#dialects.set(request, connection.dialect);
    refuseWebsockets(headers);
    const endpoint = findEndpoint(connection.dialect, method, path.rest);
    if (endpoint === undefined) throw notServed(connection.dialect, method, path);
    const open = this.limits.take(tenantId, declaredBytes(headers));
    reply.raw.once('close', () => open.release());
    this.#accepted.set(request, { path, caller, connection, endpoint, open });
  }

  /** A body that does not declare its size counts as it arrives. */
  #count(request: FastifyRequest, payload: RequestPayload): RequestPayload {
    const open = this.#accepted.get(request)?.open;
    if (open === undefined || request.headers['content-length'] !== undefined) return payload;
    let bytes = 0;
    const counted = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        bytes += chunk.length;
        try {
          open.hold(bytes);
          done(null, chunk);
        } catch (error) {
          done(error as Error);
        }
      },
    });
    payload.once('error', (error) => counted.destroy(error));
    return payload.pipe(counted);
  }

  async #answer(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const accepted = this.#accepted.get(request);
    // Clients look whether the address answers at all.
    if (accepted === undefined) return reply.status(200).send();
    const { path, caller, connection, endpoint, open } = accepted;
    if (endpoint.kind === 'base') return reply.send({ connection: connection.name, dialect: connection.dialect });
    if (endpoint.kind === 'models')
      return reply.type('application/json').send(listModels(connection, this.clock.now()));
    const sent = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    request.body = undefined;
    const body = await readBody(sent, request.headers['content-encoding']);
    open.hold(body.length);
    const { headers } = request;
    const url = request.raw.url ?? '';
    const left = new AbortController();
    reply.raw.once('close', () => left.abort());
    if (endpoint.kind === 'free') {
      return this.freeCalls.forward(
        {
          caller,
          connection,
          body,
          path: `${endpoint.path}${pickQuery(url)}`,
          headers: pickRequestHeaders(headers, connection.forwardHeaders),
        },
        reply,
        left.signal,
      );
    }
    const writer = new AnswerWriter(reply.raw, () => this.clock.now());
    reply.hijack();
    try {
      await this.pipeline.run({ caller, connection, endpoint, path, url, headers, body }, writer, left.signal);
    } catch (error) {
      this.#endHijacked(error, accepted, request, reply, writer);
    }
    return reply;
  }

  /** The answer is ours since it was hijacked, so that its errors are, too. */
  #endHijacked(
    error: unknown,
    { connection, endpoint }: AcceptedHead,
    request: FastifyRequest,
    reply: FastifyReply,
    writer: AnswerWriter,
  ): void {
    const isGone = error instanceof ClientGone || reply.raw.destroyed;
    const refusal = isGone ? undefined : this.#readRefusal(error);
    if (refusal !== undefined) this.metrics.ended(connection.dialect, `refused_${refusal.kind}`);
    if (refusal === undefined || writer.hasHead) {
      writer.cut();
      return;
    }
    const api = endpoint.kind === 'model' ? endpoint.api : undefined;
    const { status, headers, body } = writeRefusal(connection.dialect, refusal, request.id, api);
    writer.head(status, { ...headers, ...decisionHeader(error) });
    reply.raw.end(body);
  }

  #refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const dialect = this.#dialects.get(request) ?? guessDialect(request);
    const refusal = this.#readRefusal(error);
    this.metrics.ended(dialect, `refused_${refusal.kind}`);
    const { status, headers, body } = writeRefusal(dialect, refusal, request.id);
    // The body of a refused request is not read, so its connection cannot be used again.
    if (request.body === undefined && request.headers['content-length'] !== '0') reply.header('connection', 'close');
    void reply
      .status(error instanceof UpgradeRefused ? 426 : status)
      .headers({ ...headers, ...decisionHeader(error) })
      .send(body);
  }

  #readRefusal(error: unknown): ModelRefusal {
    if (error instanceof RefusedCall) return error.refusal;
    const { statusCode: status } = error as { statusCode?: unknown };
    if (status === 413) return { kind: 'too_large', code: 'body_too_large', message: bodyTooLarge() };
    if (typeof status === 'number' && status < 500) {
      return { kind: 'invalid', code: 'invalid_request', message: 'The request cannot be read.' };
    }
    this.logger.error({ err: error }, 'a model call failed');
    return { kind: 'unavailable', code: 'internal', message: 'The gateway failed. Send the request again.' };
  }
}

function decisionHeader(error: unknown): Record<string, string> {
  const decisionId = error instanceof RefusedCall ? error.decisionId : undefined;
  return decisionId === undefined ? {} : { 'x-agentlens-decision': decisionId };
}

/** Clients of Responses first open a websocket and change to HTTP at this answer. */
class UpgradeRefused extends RefusedCall {}

function refuseWebsockets({ upgrade }: IncomingHttpHeaders): void {
  if (upgrade === undefined) return;
  throw new UpgradeRefused('invalid', 'no_websocket', 'The gateway speaks HTTP, not websockets.');
}

/** A key of a model in a web page is everybody's key. */
function refuseBrowsers({ origin }: IncomingHttpHeaders): void {
  if (origin === undefined) return;
  throw new RefusedCall('forbidden', 'browser', 'Web pages may not call models through the gateway.');
}

function notServed(dialect: ModelDialect, method: string, { rest }: GatewayPath): RefusedCall {
  const served = SERVED[dialect].join(', ');
  const asked = rest.length > 100 ? 'That path' : `${method} /${rest}`;
  return new RefusedCall('not_found', 'not_served', `${asked} is not served. This connection serves ${served}.`);
}

/** Until the connection is known. */
function guessDialect({ raw, headers }: FastifyRequest): ModelDialect {
  if (headers['x-goog-api-key'] !== undefined || (raw.url ?? '').includes('/v1beta/')) return 'gemini';
  const hasItsHeaders = headers['anthropic-version'] !== undefined || headers['x-api-key'] !== undefined;
  return hasItsHeaders || (raw.url ?? '').includes('/v1/messages') ? 'anthropic' : 'openai';
}

const UNDECLARED_BYTES = 1024 * 1024;

function declaredBytes(headers: IncomingHttpHeaders): number {
  const length = headers['content-length'];
  return length === undefined ? UNDECLARED_BYTES : Number(length);
}

/** Names without `*` of the list of allowed models, in the shape of the dialect. */
function listModels({ models = [], dialect, provider }: Connection, nowMs: number): string {
  const names = models.filter((name) => !name.includes('*'));
  if (dialect === 'openai') {
    const data = names.map((id) => ({ id, object: 'model', created: Math.floor(nowMs / 1000), owned_by: provider }));
    return JSON.stringify({ object: 'list', data });
  }
  if (dialect === 'gemini') {
    const all = names.map((id) => ({ name: `models/${id}`, displayName: id }));
    return JSON.stringify({ models: all });
  }
  const created_at = new Date(nowMs).toISOString();
  const data = names.map((id) => ({ type: 'model', id, display_name: id, created_at }));
  return JSON.stringify({ data, has_more: false, first_id: names[0] ?? null, last_id: names.at(-1) ?? null });
}
