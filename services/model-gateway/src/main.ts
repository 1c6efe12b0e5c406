import { runService } from '@agentlens/platform';
import { ModelGatewayModule } from './model-gateway.module.ts';

await runService('model-gateway', ModelGatewayModule);
