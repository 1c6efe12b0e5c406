export { BacktesterModule } from './backtester.module.ts';
