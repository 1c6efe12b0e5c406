export { ActionDispatcherModule } from './action-dispatcher.module.ts';
