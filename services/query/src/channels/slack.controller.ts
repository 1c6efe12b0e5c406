import { COMMANDS } from '@agentlens/contracts';
import { linkChat, type RequestOf, takeSlackClick } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, parseOr400, Serves } from '@agentlens/platform';
import { Controller, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Commands } from '../http/commands.ts';
import { KeyNames } from '../keys/key-names.ts';

const Path = z.object({ tenant: z.string().max(100), channel: z.string().max(100) });

/** What Slack sends. The dispatcher checks the signature, because it owns the secret of the channel. */
@Controller()
export class SlackController {
  constructor(
    private readonly commands: Commands,
    private readonly names: KeyNames,
  ) {}

  @Serves(takeSlackClick, { decodesBodies: true, keepsText: true })
  async take(@Req() request: FastifyRequest): Promise<Record<string, never>> {
    const { tenant: tenantId, channel: channelId } = parseOr400(Path, request.params);
    const header = (name: string) => String(request.headers[name] ?? '').slice(0, 200);
    const click = {
      ...{ tenantId, channelId, body: request.bodyText ?? '' },
      ...{ timestamp: header('x-slack-request-timestamp'), signature: header('x-slack-signature') },
    };
    // Slack shows an error if it waits for three seconds. A click that is taken later still counts, and the dispatcher
    // answers the person. A click that was not taken is an error, which Slack shows: it does not repeat clicks.
    await this.commands.forwardInTime(COMMANDS.takeSlackClick, click);
    return {};
  }

  @Serves(linkChat)
  async link(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof linkChat>) {
    const { author } = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.linkChat, { tenantId: caller.tenantId, token: body.token, author });
  }
}
