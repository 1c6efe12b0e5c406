import {
  acceptedContent,
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { answerOf, failure, failureText } from './answer.ts';
import { subjectOf } from './confirmations.ts';
import { canAskUser, type McpSession } from './session.ts';
import {
  type Confirmation,
  inputProblem,
  type PermittedTool,
  permittedTool,
  type ToolAction,
  type ToolInput,
} from './tool.ts';
import { TOOLS } from './tools/index.ts';

/** Whether to continue; otherwise the answer. */
type Confirmed =
  | { readonly kind: 'yes' }
  | { readonly kind: 'ask'; readonly result: InputRequiredResult }
  | { readonly kind: 'no'; readonly why: string };

const ANSWER = 'confirmation';
const Answer = z.object({ confirm: z.boolean().meta({ title: 'Yes, do it' }) });

interface Asking {
  readonly context: ServerContext;
  readonly session: McpSession;
  readonly canAsk: boolean;
  /** Argument of that name. */
  readonly confirm: unknown;
  /** What exactly the answer is about, including the question. */
  readonly subject: string;
}

/** A client with forms asks its user, regardless of the arguments; otherwise the caller states that its user agreed. */
async function confirmed({ question, onlyAsked }: Confirmation, asking: Asking): Promise<Confirmed> {
  const { session, canAsk, confirm, subject } = asking;
  const { consoleUrl, confirmations } = session;
  if (canAsk) return answered(question, asking);
  if (onlyAsked !== undefined) {
    const why = `Only a person may decide this, and this client cannot ask one. Nothing was changed. Decide in the console: ${consoleUrl}${onlyAsked.path}`;
    return { kind: 'no', why };
  }
  if (typeof confirm === 'string' && (await confirmations.redeem(confirm, subject))) return { kind: 'yes' };
  const code = JSON.stringify(await confirmations.issue(subject));
  const wrong = confirm === undefined ? '' : 'The code in "confirm" is not valid for this question.\n';
  return {
    kind: 'no',
    why: `${wrong}${question}\nNothing was changed yet. Ask the user; if they agree, repeat the call with "confirm": ${code}.`,
  };
}

/** The code travels with the question, so that an answer counts only for its own question. */
async function answered(question: string, { context, session, subject }: Asking): Promise<Confirmed> {
  const { confirmations } = session;
  const { inputResponses, requestState } = context.mcpReq;
  if (inputResponses?.[ANSWER] === undefined) {
    const request = inputRequired.elicit({ message: question, requestedSchema: Answer });
    const code = await confirmations.issue(subject);
    return { kind: 'ask', result: inputRequired({ inputRequests: { [ANSWER]: request }, requestState: code }) };
  }
  const code: unknown = requestState();
  if (typeof code !== 'string' || !(await confirmations.redeem(code, subject))) {
    const why = 'The answer belongs to another question, was used before, or came too late. Nothing was changed.';
    return { kind: 'no', why };
  }
  const agreed = acceptedContent(inputResponses, ANSWER, Answer)?.confirm === true;
  return agreed ? { kind: 'yes' } : { kind: 'no', why: 'The user did not confirm. Nothing was changed.' };
}

/** Registers the tools this session's key may use, with the actions it may take. */
export function registerTools(server: McpServer, session: McpSession): void {
  for (const definition of TOOLS) {
    const tool = permittedTool(definition, session.scopes);
    if (tool === undefined) continue;
    const { title } = definition;
    const config = {
      title,
      description: descriptionOf(tool),
      inputSchema: withoutDialect(tool.input),
      annotations: hintsOf(tool),
    };
    server.registerTool(`agentlens_${definition.name}`, config, (input, context) =>
      call(server, session, tool, input, context),
    );
  }
}

/**
 * The same schema whose JSON form names no dialect: that of MCP is the default, and naming it in every tool costs each
 * conversation 700 bytes.
 */
function withoutDialect(schema: PermittedTool['input']): PermittedTool['input'] {
  const { jsonSchema, ...standard } = schema['~standard'];
  const convert = (options: Parameters<typeof jsonSchema.input>[0]) => {
    const { $schema: _, ...bare } = jsonSchema.input(options);
    return bare;
  };
  return Object.create(schema, {
    '~standard': { value: { ...standard, jsonSchema: { ...jsonSchema, input: convert } } },
  });
}

/** Sets all four hints, because an omitted hint counts as the worst case. */
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
  const signatures = [...actions].map(([name, { needs = [], takes = [], confirm }]) => {
    const optional = [...takes, ...(confirm === undefined ? [] : ['confirm'])];
    return `${name}(${[...needs, ...optional.map((field) => `${field}?`)].join(', ')})`;
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
  if (action === undefined) return failure(`Unknown action "${name}".`);
  const problem = inputProblem(name, action, given);
  if (problem !== undefined) return failure(problem);
  try {
    const refused = await confirmation(server, session, { tool, name, action }, given, context);
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
  { tool, name, action }: { readonly tool: PermittedTool; readonly name: string; readonly action: ToolAction },
  input: ToolInput,
  context: ServerContext,
): Promise<CallToolResult | InputRequiredResult | undefined> {
  const confirmation = await action.confirm?.(session, input);
  if (confirmation === undefined) return undefined;
  const { confirm, ...given } = input;
  const { question } = confirmation;
  const subject = subjectOf(session, { tool: tool.definition.name, action: name, given, question });
  const answer = await confirmed(confirmation, {
    ...{ context, session, confirm, subject },
    canAsk: canAskUser(server, context),
  });
  if (answer.kind === 'yes') return undefined;
  return answer.kind === 'ask' ? answer.result : failure(answer.why);
}
