import type { CommandFile } from '../../command-file.ts';
import type { Cell } from '../../output/table.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.action(async () => {
    const client = await context.connect();
    const settings = await client.getSettings();
    context.output.printDetails(settings, members(settings));
  });
};

/** Every setting by its own name, whatever the platform knows. */
export function members(settings: object): [string, Cell][] {
  return Object.entries(settings).map(([name, value]) => [
    name,
    typeof value === 'object' ? JSON.stringify(value) : String(value),
  ]);
}
