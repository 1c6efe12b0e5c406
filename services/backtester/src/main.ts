import { runService } from '@agentlens/platform';
import { BacktesterModule } from './backtester.module.ts';

await runService('backtester', BacktesterModule);
