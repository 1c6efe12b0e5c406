import {
  addOnCallOverride,
  deleteOnCall,
  endOnCallOverride,
  getOnCall,
  listOnCall,
  type RequestOf,
  setOnCall,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { KeyNames } from '../keys/key-names.ts';
import { OnCallSchedules } from '../people/on-call.repository.ts';

/** Who is on call, and who takes a shift of another. */
@Controller()
export class OnCallController {
  constructor(
    private readonly schedules: OnCallSchedules,
    private readonly names: KeyNames,
  ) {}

  @Serves(listOnCall)
  async list(@CurrentCaller() { tenantId }: Caller) {
    return { schedules: await this.schedules.list(tenantId) };
  }

  @Serves(getOnCall)
  find(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { params: { id }, query: { at } }: RequestOf<typeof getOnCall>,
  ) {
    return this.schedules.find(tenantId, id, at === undefined ? undefined : Date.parse(at));
  }

  @Serves(setOnCall)
  async set(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, body, headers }: RequestOf<typeof setOnCall>,
  ) {
    return this.schedules.set(id, body, { ...(await this.#change(caller)), ifVersion: headers['if-match'] });
  }

  @Serves(deleteOnCall)
  async delete(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof deleteOnCall>) {
    await this.schedules.delete(id, await this.#change(caller));
    return { id, deleted: true as const };
  }

  @Serves(addOnCallOverride)
  async addOverride(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, body }: RequestOf<typeof addOnCallOverride>,
  ) {
    return this.schedules.addOverride(id, body, await this.#change(caller));
  }

  @Serves(endOnCallOverride)
  async endOverride(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id, override } }: RequestOf<typeof endOnCallOverride>,
  ) {
    return this.schedules.endOverride(id, override, await this.#change(caller));
  }

  async #change(caller: Caller) {
    const { author } = await this.names.authorOf(caller);
    return { tenantId: caller.tenantId, author };
  }
}
