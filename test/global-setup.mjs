import { CONTROL_PORT_VARIABLE, SharedPostgres } from '../libs/testing/src/servers/shared-postgres.ts';

/** Servers are started by the first test that needs them; here only the place to ask is opened. */
export default async function setUp() {
  const shared = new SharedPostgres();
  globalThis.agentlensSharedPostgres = shared;
  process.env[CONTROL_PORT_VARIABLE] = String(await shared.listen());
}
