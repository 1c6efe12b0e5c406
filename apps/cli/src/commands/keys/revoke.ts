import { type Client, pages } from '@agentlens/client';
import { CommandError } from '../../command-error.ts';
import type { CommandFile } from '../../command-file.ts';
import { EXIT } from '../../exit-codes.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<id>', 'the key to end').action(async (id) => {
    const client = await context.connect();
    const key = await find(client, id);
    if (key === undefined) {
      const hint = '"agentlens keys list" shows every key of the tenant.';
      throw new CommandError(`There is no key ${id}`, { exitCode: EXIT.notFoundOrConflict, hint });
    }
    await context.confirmByName(`Revoke the key ${id}? Whatever uses it stops working within 5 seconds.`, key.name);
    const answer = await client.revokeKey({ params: { id } });
    context.output.print(answer, () => `Revoked ${id}`);
  });
};

async function find(client: Client, id: string) {
  for await (const { keys } of pages(client.listKeys, {})) {
    const key = keys.find((one) => one.id === id);
    if (key !== undefined) return key;
  }
  return undefined;
}
