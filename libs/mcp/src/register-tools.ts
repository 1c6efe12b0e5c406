import type { CallToolResult, InputRequiredResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import { answerOf, failure } from './answer.ts';
import { canAskUser } from './can-ask-user.ts';
import { confirmed } from './confirmation.ts';
import { failureText } from './failure-text.ts';
import type { McpSession } from './mcp-session.ts';
import type { ToolAction, ToolInput } from './tool.ts';
import { inputProblem, type PermittedTool, permittedTool } from './tool-input.ts';
import { TOOLS } from './tools/index.ts';

/** The tools that the key of this session may use, each with those of its actions that the key may take. */
export function registerTools(server: McpServer, session: McpSession): void {
  for (const definition of TOOLS) {
    const tool = permittedTool(definition, session.scopes);
    if (tool === undefined) continue;
    const { title } = definition;
    const config = { title, description: descriptionOf(tool), inputSchema: tool.input, annotations: hintsOf(tool) };
    server.registerTool(`agentlens_${definition.name}`, config, (input, context) =>
      call(server, session, tool, input, context),
    );
  }
}

/** All four are said: what is left out counts as the worst. */
function hintsOf({ readsOnly }: PermittedTool) {
  return {
    readOnlyHint: readsOnly,
    destructiveHint: !readsOnly,
    idempotentHint: readsOnly,
    openWorldHint: false,
  };
}

function descriptionOf({ definition: { description, actions: all }, actions }: PermittedTool): string {
  if (Object.keys(all).length === 1) return description;
  const signatures = [...actions].map(([name, { needs = [], takes = [] }]) => {
    const needed = needs.join(', ');
    return takes.length > 0 || needs.length === 0 ? name : `${name}(${needed})`;
  });
  return `${description} Actions: ${signatures.join(', ')}.`;
}

async function call(
  server: McpServer,
  session: McpSession,
  tool: PermittedTool,
  given: ToolInput,
  context: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
  const [first = ''] = tool.actions.keys();
  const name = typeof given.action === 'string' ? given.action : first;
  const action = tool.actions.get(name);
  if (action === undefined) return failure(`There is no action "${name}".`);
  const problem = inputProblem(name, action, given);
  if (problem !== undefined) return failure(problem);
  try {
    const refused = await confirmation(server, session, action, given, context);
    if (refused !== undefined) return refused;
    const found = await action.run(session, given);
    return await answerOf(found, { action: name, full: given.detail === 'full', consoleUrl: session.consoleUrl });
  } catch (error) {
    return failure(failureText(error, session.consoleUrl));
  }
}

async function confirmation(
  server: McpServer,
  session: McpSession,
  action: ToolAction,
  input: ToolInput,
  context: ServerContext,
): Promise<CallToolResult | InputRequiredResult | undefined> {
  const question = await action.confirm?.(session, input);
  if (question === undefined) return undefined;
  const answer = confirmed(question, {
    context,
    canAsk: canAskUser(server, context),
    confirm: input.confirm,
    consoleUrl: session.consoleUrl,
  });
  if (answer.kind === 'yes') return undefined;
  return answer.kind === 'ask' ? answer.result : failure(answer.why);
}
