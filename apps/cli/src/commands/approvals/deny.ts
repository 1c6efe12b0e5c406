import { decideCommand } from '../alerts/decide-command.ts';

export const define = decideCommand('denyAlert');
