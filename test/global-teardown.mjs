export default async function tearDown() {
  await globalThis.agentlensSharedPostgres?.stop();
}
