import { setTimeout as pause } from 'node:timers/promises';
import { type ChangeAuthor, COMMANDS } from '@agentlens/contracts';
import {
  createSilence,
  deleteChannel,
  endSilence,
  explainRoutes,
  getAlertNotices,
  getChannel,
  getRoutes,
  listChannels,
  listSilences,
  type RequestOf,
  setChannel,
  setRoutes,
  testChannel,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, ProblemException, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { ChannelsQueries } from './channels.queries.ts';

/** A test is asked for its result so often, at this interval. */
const LOOKS = 20;
const LOOK_MS = 200;

/** Channels, routes, silences, and who was notified. The dispatcher owns them. */
@Controller()
export class ChannelsController {
  constructor(
    private readonly channels: ChannelsQueries,
    private readonly names: KeyNames,
    private readonly commands: Commands,
  ) {}

  @Serves(listChannels)
  async list(@CurrentCaller() { tenantId }: Caller) {
    return { channels: await this.channels.list(tenantId) };
  }

  @Serves(getChannel)
  async get(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params }: RequestOf<typeof getChannel>) {
    return foundOr404('Channel', await this.channels.get(tenantId, params.id));
  }

  @Serves(setChannel)
  async set(@CurrentCaller() caller: Caller, @FromRequest() { params, headers, body }: RequestOf<typeof setChannel>) {
    const change = await this.#change(caller, headers);
    return this.commands.forward(COMMANDS.setChannel, { ...change, channelId: params.id, draft: body });
  }

  @Serves(deleteChannel)
  async delete(@CurrentCaller() caller: Caller, @FromRequest() { params, headers }: RequestOf<typeof deleteChannel>) {
    const change = await this.#change(caller, headers);
    return this.commands.forward(COMMANDS.deleteChannel, { ...change, channelId: params.id });
  }

  @Serves(testChannel)
  async test(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params }: RequestOf<typeof testChannel>) {
    const { deliveryIds } = await this.commands.forward(COMMANDS.testChannel, { tenantId, channelId: params.id });
    for (let look = 1; ; look++) {
      const deliveries = await this.channels.deliveries(tenantId, deliveryIds);
      const isDone = deliveries.every(({ status }) => status !== 'pending');
      if (isDone || look === LOOKS) {
        return { accepted: deliveries.every(({ status }) => status === 'success'), deliveries };
      }
      await pause(LOOK_MS);
    }
  }

  @Serves(getRoutes)
  routes(@CurrentCaller() { tenantId }: Caller) {
    return this.channels.routes(tenantId);
  }

  @Serves(setRoutes)
  async setRoutes(@CurrentCaller() caller: Caller, @FromRequest() { headers, body }: RequestOf<typeof setRoutes>) {
    const { by, author } = await this.names.authorOf(caller);
    const change = { tenantId: caller.tenantId, author, by, ifVersion: headers['if-match'] };
    return this.commands.forward(COMMANDS.setRoutes, { ...change, document: body });
  }

  @Serves(explainRoutes)
  async explain(@CurrentCaller() { tenantId }: Caller, @FromRequest() { body }: RequestOf<typeof explainRoutes>) {
    const answer = await this.channels.explain(tenantId, body);
    if (answer.kind === 'explained') return { channels: answer.channels };
    throw new ProblemException(422, 'The routes cannot be used', { details: [...answer.problems] });
  }

  @Serves(listSilences)
  async silences(@CurrentCaller() { tenantId }: Caller) {
    return { silences: await this.channels.silences(tenantId) };
  }

  @Serves(createSilence)
  async createSilence(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof createSilence>) {
    const { by, author } = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.createSilence, { tenantId: caller.tenantId, by, author, draft: body });
  }

  @Serves(endSilence)
  async endSilence(@CurrentCaller() caller: Caller, @FromRequest() { params }: RequestOf<typeof endSilence>) {
    const { author } = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.endSilence, { tenantId: caller.tenantId, author, silenceId: params.id });
  }

  @Serves(getAlertNotices)
  async notices(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params }: RequestOf<typeof getAlertNotices>) {
    return foundOr404('Alert', await this.channels.notices(tenantId, params.id));
  }

  async #change(caller: Caller, headers: { readonly 'if-match'?: number | undefined }): Promise<OwnedChange> {
    const { author } = await this.names.authorOf(caller);
    return { tenantId: caller.tenantId, author, ifVersion: headers['if-match'] };
  }
}

interface OwnedChange {
  readonly tenantId: string;
  readonly author: ChangeAuthor;
  readonly ifVersion: number | undefined;
}
