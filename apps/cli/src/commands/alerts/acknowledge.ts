import { decideCommand } from './decide-command.ts';

export const define = decideCommand('acknowledgeAlert');
