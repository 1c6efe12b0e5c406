import { COMMANDS } from '@agentlens/contracts';
import { createErasure, getErasure, listErasures, type RequestOf } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/found-or-404.ts';
import { KeyNames } from '../keys/key-names.ts';
import { ErasuresQueries } from './erasures.queries.ts';

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
