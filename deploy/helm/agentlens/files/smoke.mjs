// helm test: pages, API and readiness through the public address, and with a key the whole way of an event.
const { ENTRY = '', READY = '', KEY_FILE } = process.env;
const TIMEOUT_MS = 5_000;
const WITHIN_MS = 60_000;
const PAUSE_MS = 500;

async function expectStatus(url, status) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (answer.status !== status) throw new Error(`GET ${url} answered ${answer.status}, expected ${status}`);
  await answer.arrayBuffer();
  console.log(`GET ${url}: ${status}`);
}

// Compose has no addresses of single services to ask.
for (const address of READY.split(',').filter((one) => one !== '')) await expectStatus(`${address}/readyz`, 200);
await expectStatus(`${ENTRY}/openapi.json`, 200);
await expectStatus(`${ENTRY}/api/guardrails`, 401);

if (KEY_FILE === undefined) {
  console.log('no key, so no event was sent');
} else {
  const { readFile } = await import('node:fs/promises');
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${(await readFile(KEY_FILE, 'utf8')).trim()}`,
  };
  const runId = `smoke-${Date.now()}`;
  const event = { agentId: 'smoke-test', sessionId: runId, eventType: 'session_started', payload: {} };
  const body = JSON.stringify({ events: [event] });
  const sent = await fetch(`${ENTRY}/api/events`, {
    method: 'POST',
    headers,
    body,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!sent.ok) throw new Error(`POST /api/events answered ${sent.status}: ${await sent.text()}`);
  const until = Date.now() + WITHIN_MS;
  for (;;) {
    const found = await fetch(`${ENTRY}/api/runs/${runId}`, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (found.ok) break;
    if (Date.now() > until)
      throw new Error(`the run ${runId} was not stored within ${WITHIN_MS / 1_000} s: ${found.status}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  console.log(`an event went from ingest to query: run ${runId}`);
}
