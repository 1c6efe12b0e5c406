import { COMMANDS } from '@agentlens/contracts';
import type { ErasuresTable } from '@agentlens/database';
import { createErasure, type ErasureView, getErasure, listErasures, type RequestOf } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller, Injectable } from '@nestjs/common';
import type { Selectable } from 'kysely';
import { Commands } from '../http/commands.ts';
import { foundOr404, TenantReads } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';

const MOST = 100;

@Injectable()
export class ErasuresQueries {
  constructor(private readonly reads: TenantReads) {}

  /** @param id returns only this erasure */
  async newest(tenantId: string, id?: string): Promise<readonly ErasureView[]> {
    const rows = await this.reads.read(tenantId, (db) => {
      const query = db.selectFrom('erasures').selectAll().where('tenant_id', '=', tenantId);
      const narrowed = id === undefined ? query : query.where('erasure_id', '=', id);
      return narrowed.orderBy('requested_at', 'desc').orderBy('erasure_id', 'desc').limit(MOST).execute();
    });
    return rows.map(erasureFromRow);
  }
}

function erasureFromRow(row: Selectable<ErasuresTable>): ErasureView {
  return {
    id: row.erasure_id,
    ...(row.actor_id !== null && { actorId: row.actor_id }),
    actorDigest: row.actor_digest,
    state: row.state,
    requestedAt: row.requested_at,
    ...(row.finished_at !== null && { finishedAt: row.finished_at }),
    runs: row.runs,
    events: row.events,
  };
}

@Controller()
export class ErasuresController {
  constructor(
    private readonly erasures: ErasuresQueries,
    private readonly commands: Commands,
    private readonly names: KeyNames,
  ) {}

  @Serves(createErasure)
  async create(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof createErasure>) {
    const { author } = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.eraseActor, { tenantId: caller.tenantId, actorId: body.actorId, author });
  }

  @Serves(listErasures)
  async list(@CurrentCaller() { tenantId }: Caller) {
    return { erasures: await this.erasures.newest(tenantId) };
  }

  @Serves(getErasure)
  async get(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getErasure>) {
    return foundOr404('Erasure', (await this.erasures.newest(tenantId, id))[0]);
  }
}
