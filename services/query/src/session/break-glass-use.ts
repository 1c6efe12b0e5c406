import { COMMANDS } from '@agentlens/contracts';
import { type Database, recordChanges } from '@agentlens/database';
import { type Caller, type Clock, type Platform, ProblemException, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { KeyNames } from '../keys/key-names.ts';

/** Agent that alerts about the console name. */
const CONSOLE = 'agentlens-console';

/** Records that a break-glass key signed in, and raises an alert that no silence stops. */
@Injectable()
export class BreakGlassUse {
  constructor(
    private readonly commands: Commands,
    private readonly names: KeyNames,
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
  ) {}

  async used(caller: Caller, sessionId: string): Promise<void> {
    const { tenantId } = caller;
    const at = new Date(this.clock.now()).toISOString();
    const { by, author } = await this.names.authorOf(caller);
    await recordChanges(this.database.db, [
      { tenantId, at, kind: 'session.started', targetId: sessionId, author, after: { breakGlass: true } },
    ]);
    try {
      await this.commands.forward(COMMANDS.raiseAlert, {
        ...{
          tenantId,
          kind: 'security',
          severity: 'critical',
          agentId: CONSOLE,
          at,
          about: `break-glass ${sessionId}`,
        },
        title: 'A break-glass key signed in',
        message: `The key ${by} signed in to the console, for an hour. If you do not know why, end its session and revoke the key.`,
      });
    } catch (err) {
      // The key is for emergencies, so it works while the owner of alerts does not answer. The audit has the sign-in.
      if (!(err instanceof ProblemException)) throw err;
      this.logger.error({ err, tenantId, sessionId }, 'the alert about a break-glass key could not be raised');
    }
  }
}
