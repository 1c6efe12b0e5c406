import { describe } from '@jest/globals';
import { commandsContract } from './commands.contract.ts';
import { consumingContract } from './consuming.contract.ts';
import { failingContract } from './failing.contract.ts';
import type { StartBus } from './harness.contract.ts';
import { stoppingContract } from './stopping.contract.ts';
import { watchingContract } from './watching.contract.ts';

/** Contract of every event bus. Adapters run it in their own spec; each test gets a new bus. */
export function eventBusContract(name: string, start: StartBus): void {
  describe(`event bus contract: ${name}`, () => {
    consumingContract(start);
    failingContract(start);
    watchingContract(start);
    commandsContract(start);
    stoppingContract(start);
  });
}
