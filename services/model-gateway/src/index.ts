export { ModelGatewayModule } from './model-gateway.module.ts';
