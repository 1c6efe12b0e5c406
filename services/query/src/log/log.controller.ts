import { parseTilePath } from '@agentlens/log';
import {
  getApprovalEvidence,
  getDecisionEvidence,
  getLogCheckpoint,
  getLogConsistency,
  getLogInclusion,
  getLogKey,
  getLogTile,
  getOrderEvidence,
  getRunEvidence,
  type RequestOf,
  verifyLog,
} from '@agentlens/operations';
import { type Caller, type Clock, CurrentCaller, callerOf, FromRequest, port, Serves } from '@agentlens/platform';
import { Controller, Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { foundOr404 } from '../http/tenant-reads.ts';
import { LogQueries } from './log.queries.ts';
import type { EvidenceSubject } from './subject-entries.ts';

@Controller()
export class LogController {
  constructor(
    private readonly log: LogQueries,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  @Serves(getLogKey)
  async key(@CurrentCaller() { tenantId }: Caller) {
    return foundOr404('Log', await this.log.key(tenantId));
  }

  @Serves(getLogCheckpoint)
  async checkpoint(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { query }: RequestOf<typeof getLogCheckpoint>,
  ) {
    return foundOr404('Checkpoint', await this.log.checkpoint(tenantId, query.witnessed));
  }

  @Serves(getLogTile)
  async tile(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params }: RequestOf<typeof getLogTile>) {
    return { hashes: foundOr404('Tile', await this.log.tile(tenantId, params.level, params.n)) };
  }

  @Serves(getLogInclusion)
  async inclusion(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof getLogInclusion>) {
    return foundOr404('Entry', await this.log.inclusion(tenantId, query.kind, query.id));
  }

  @Serves(getLogConsistency)
  async consistency(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { query }: RequestOf<typeof getLogConsistency>,
  ) {
    return foundOr404('Checkpoint', await this.log.consistency(tenantId, query.from, query.to));
  }

  @Serves(verifyLog)
  async verify(@CurrentCaller() { tenantId }: Caller, @FromRequest() { body }: RequestOf<typeof verifyLog>) {
    return this.log.check(tenantId, body);
  }

  @Serves(getRunEvidence)
  async run(@CurrentCaller() caller: Caller, @FromRequest() { params, query }: RequestOf<typeof getRunEvidence>) {
    return this.#evidence(caller, { kind: 'run', id: params.id }, query.since);
  }

  @Serves(getDecisionEvidence)
  async decision(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params, query }: RequestOf<typeof getDecisionEvidence>,
  ) {
    return this.#evidence(caller, { kind: 'decision', id: params.id }, query.since);
  }

  @Serves(getApprovalEvidence)
  async approval(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params, query }: RequestOf<typeof getApprovalEvidence>,
  ) {
    return this.#evidence(caller, { kind: 'approval', id: params.id }, query.since);
  }

  @Serves(getOrderEvidence)
  async order(@CurrentCaller() caller: Caller, @FromRequest() { params, query }: RequestOf<typeof getOrderEvidence>) {
    return this.#evidence(caller, { kind: 'order', id: params.id }, query.since);
  }

  #evidence({ tenantId }: Caller, subject: EvidenceSubject, since: number | undefined) {
    const made = new Date(this.clock.now()).toISOString();
    return this.log.evidence(tenantId, subject, since, made);
  }
}

const READ = { config: { scopes: ['read'] } } as const;
/** A tile never changes, but it is a tenant's: a shared cache must not keep it. */
const FOR_EVER = 'private, max-age=31536000, immutable';

/**
 * The tenant's log as C2SP tlog-tiles, below `/log/`: the checkpoint, tiles and entry bundles at the addresses and in the
 * bytes that foreign clients expect. They need a key with the scope `read`.
 */
@Injectable()
export class TilesServer implements OnModuleInit {
  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(LogQueries) private readonly log: LogQueries,
  ) {}

  onModuleInit(): void {
    const server: FastifyInstance = this.host.httpAdapter.getInstance();
    server.get('/log/checkpoint', READ, async (request, reply) => {
      const { note } = foundOr404('Checkpoint', await this.log.checkpoint(callerOf(request).tenantId));
      return reply.type('text/plain; charset=utf-8').header('cache-control', 'private, no-cache').send(note);
    });
    server.get<{ Params: { '*': string } }>('/log/tile/*', READ, async (request, reply) => {
      const resource = parseTilePath(`tile/${request.params['*']}`);
      const bytes = resource && (await this.log.resource(callerOf(request).tenantId, resource));
      return reply.type('application/octet-stream').header('cache-control', FOR_EVER).send(foundOr404('Tile', bytes));
    });
  }
}
