import { Alert } from '@agentlens/contracts';

export const AlertView = Alert.meta({ id: 'Alert' });
