import type { Principal, Roles } from '../security/roles.ts';
import type { AgentHandle } from './agent-handle.ts';

/**
 * A handle for one principal: roles check everything it reads, sends and answers, by the kind of the agent.
 *
 * @throws AgentError `forbidden` from each method that is not allowed
 */
export function handleFor(
  handle: AgentHandle,
  agentType: string,
  principal: Principal | undefined,
  roles: Roles,
): AgentHandle {
  const reads = () => roles.check(principal, 'session.read', agentType);
  const checkInput = () => roles.check(principal, 'session.input', agentType);
  return {
    sessionId: handle.sessionId,
    finished: handle.finished,
    get state() {
      reads();
      return handle.state;
    },
    get lastSeq() {
      reads();
      return handle.lastSeq;
    },
    get usage() {
      reads();
      return handle.usage;
    },
    sendInput(input, options) {
      checkInput();
      handle.sendInput(input, options);
    },
    sendToolResult(toolUseId, result) {
      checkInput();
      handle.sendToolResult(toolUseId, result);
    },
    respondToPermission(answer) {
      roles.check(principal, 'permission.answer', agentType);
      handle.respondToPermission(answer);
    },
    interrupt(reason) {
      checkInput();
      handle.interrupt(reason);
    },
    async shutdown() {
      checkInput();
      await handle.shutdown();
    },
    async [Symbol.asyncDispose]() {
      checkInput();
      await handle.shutdown();
    },
    subscribe(options) {
      reads();
      return handle.subscribe(options);
    },
    stream(options) {
      reads();
      return handle.stream(options);
    },
    getHistory() {
      reads();
      return handle.getHistory();
    },
    getMetadata() {
      reads();
      return handle.getMetadata();
    },
    parentInfo() {
      reads();
      return handle.parentInfo();
    },
    childSessions() {
      reads();
      return handle.childSessions();
    },
  };
}
