import { COMMANDS, type Command } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { CommandUnanswered } from '../event-bus.ts';
import { freshBus, gate, type StartBus } from './harness.contract.ts';

const question = { tenantId: 'acme', deliveryId: 'delivery-1' };
const answer = { ok: true as const, value: { deliveryId: 'delivery-1' } };

function hasty<Q, A>(command: Command<Q, A>): Command<Q, A> {
  return { ...command, deadlineMs: 100 };
}

export function commandsContract(start: StartBus): void {
  describe('commands', () => {
    const current = freshBus(start);

    it('delivers a request to its handler and returns the answer, including error answers', async () => {
      const { bus, replica } = current();
      const caller = await replica();
      await bus.serve(COMMANDS.redeliver, async ({ deliveryId }) => {
        if (deliveryId === 'gone') return { ok: false as const, problem: { error: 'No such delivery', status: 404 } };
        return { ok: true as const, value: { deliveryId } };
      });
      expect(await caller.request(COMMANDS.redeliver, question)).toEqual(answer);
      const refused = await caller.request(COMMANDS.redeliver, { ...question, deliveryId: 'gone' });
      expect(refused).toEqual({ ok: false, problem: { error: 'No such delivery', status: 404 } });
    });

    it('delivers a request to exactly one handler', async () => {
      const { bus, replica } = current();
      const other = await replica();
      let asked = 0;
      for (const owner of [bus, other]) {
        await owner.serve(COMMANDS.redeliver, async () => {
          asked += 1;
          return answer;
        });
      }
      await Promise.all(Array.from({ length: 10 }, () => bus.request(COMMANDS.redeliver, question)));
      expect(asked).toBe(10);
    });

    it('reports a missing handler and a timeout', async () => {
      const { bus } = current();
      const unheard = bus.request(COMMANDS.redeliver, question);
      await expect(unheard).rejects.toBeInstanceOf(CommandUnanswered);
      await expect(unheard).rejects.toMatchObject({ wasAsked: false, hasNoHandler: true });
      const never = gate();
      await bus.serve(COMMANDS.redeliver, async () => {
        await never.opened;
        return answer;
      });
      const late = bus.request(hasty(COMMANDS.redeliver), question);
      await expect(late).rejects.toBeInstanceOf(CommandUnanswered);
      await expect(late).rejects.toMatchObject({ wasAsked: true, hasNoHandler: false });
      never.open();
    });

    it('returns an internal error without details if the handler throws', async () => {
      const { bus } = current();
      await bus.serve(COMMANDS.redeliver, async () => {
        throw new Error('password is hunter2');
      });
      const refused = await bus.request(COMMANDS.redeliver, question);
      expect(refused).toEqual({ ok: false, problem: { error: 'Internal error', status: 500 } });
    });

    it('rejects an invalid request and names the field', async () => {
      const { bus } = current();
      await bus.serve(COMMANDS.redeliver, async () => answer);
      const refused = await bus.request(COMMANDS.redeliver, { tenantId: 'NOT A TENANT', deliveryId: 'd' });
      expect(refused).toMatchObject({ ok: false, problem: { status: 400, details: [{ path: 'tenantId' }] } });
    });

    it('sends nothing to a closed handler', async () => {
      const { bus } = current();
      const serving = await bus.serve(COMMANDS.redeliver, async () => answer);
      await serving.close();
      await expect(bus.request(COMMANDS.redeliver, question)).rejects.toBeInstanceOf(CommandUnanswered);
    });
  });
}
