import type { CommandFile } from '../../command-file.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<id>', 'the tenant, as it is named in keys and subjects')
    .option('--name <text>', 'what to call it; the id unless given')
    .action(async (id, { name }) => {
      const client = await context.connect();
      const made = await client.createTenant({ body: { id, name } });
      context.output.printDetails(made, [
        ['Tenant', made.id],
        ['Name', made.name],
        ['Admin key', made.adminKey.key],
        ['Key ID', made.adminKey.id],
      ]);
      context.output.note('Store the key now: it is not shown again.');
    });
};
