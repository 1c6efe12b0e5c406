import { orderCommand } from './order-command.ts';

export const define = orderCommand('killed');
