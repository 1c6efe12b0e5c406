import { Alert } from '@agentlens/contracts/schemas';

export const AlertView = Alert.meta({ id: 'Alert' });
