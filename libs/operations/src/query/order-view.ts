import { ControlOrder } from '@agentlens/contracts/schemas';

/** An operator's order as it is shown. */
export const OrderView = ControlOrder.meta({ id: 'ControlOrder' });
