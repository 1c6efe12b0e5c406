const colour = (code) => (text) => (process.stdout.isTTY ? `\u001b[${code}m${text}\u001b[0m` : text);
const bold = colour(1);
export const dim = colour(2);
const red = colour(31);
const green = colour(32);
const yellow = colour(33);
const cyan = colour(36);

const started = performance.now();
const clock = () => dim(`${((performance.now() - started) / 1000).toFixed(1).padStart(5)} s`);

export const say = (text = '') => console.log(text);
export const chapter = (text) => console.log(`\n${bold(text)}`);
export const agentSays = (text) => console.log(`${clock()}  ${cyan('agent     ')} ${text}`);
export const ruleFires = (text) => console.log(`${clock()}  ${yellow('guardrail ')} ${text}`);
export const actionDone = (text) => console.log(`${clock()}  ${green('action    ')} ${text}`);
export const webhookGot = (text) => console.log(`${clock()}  ${green('webhook   ')} ${text}`);

/** One event as the platform streams it back. */
export function eventSeen(event) {
  const failed = event.severity === 'error' || event.eventType === 'tool_error';
  console.log(`${clock()}  ${failed ? red('event     ') : dim('event     ')} ${summary(event)}`);
}

function summary({ eventType, payload = {} }) {
  const { toolName, error, model, costUsd, result, agentName } = payload;
  const said = [toolName, model, agentName, typeof result === 'string' ? result : undefined, error].filter(Boolean);
  const cost = costUsd === undefined ? '' : ` $${costUsd}`;
  return `${eventType}${said.length > 0 ? `  ${said.join(': ')}` : ''}${cost}`;
}
