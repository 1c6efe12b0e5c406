import { runOrderCommand } from './order-command.ts';

export const define = runOrderCommand('paused');
