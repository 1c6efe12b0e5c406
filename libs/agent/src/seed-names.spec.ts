import * as agent from '@agentlens/agent';
import * as connectors from '@agentlens/agent/connectors';
import * as console_ from '@agentlens/agent/console';
import * as host from '@agentlens/agent/host';
import * as llm from '@agentlens/agent/llm';
import * as memory from '@agentlens/agent/memory';
import * as metrics from '@agentlens/agent/metrics';
import * as postgres from '@agentlens/agent/postgres';
import * as prompts from '@agentlens/agent/prompts';
import * as redis from '@agentlens/agent/redis';
import * as replay from '@agentlens/agent/replay';
import * as safety from '@agentlens/agent/safety';
import * as security from '@agentlens/agent/security';
import * as sqlite from '@agentlens/agent/sqlite';
import * as testing from '@agentlens/agent/testing';
import * as tools from '@agentlens/agent/tools';
import { describe, expect, it } from '@jest/globals';

/** The type names of the two source documents: this file does not compile if one is missing. */
type Types = readonly [
  ...[
    agent.AgentHandle,
    agent.InputMessage,
    agent.OutputChunk,
    agent.AgentState,
    agent.ParentInfo,
    agent.ResourceKey<string>,
  ],
  ...[agent.Tool, agent.ToolInfo, agent.ToolDefinition, agent.ToolResult, agent.ToolCategory],
  ...[agent.RuleScope, agent.RuleMatcher, agent.RuleDecision, agent.PermissionRule, agent.PermissionRequest],
  ...[agent.Message, agent.ContentBlock, agent.ToolChoice, agent.ThinkingConfig, agent.StopReason, agent.RuntimeLogger],
  ...[
    agent.AgentConfig,
    agent.AgentSpec,
    agent.RunOptions,
    agent.Runner,
    agent.Planner,
    agent.PlanStep,
    agent.PlannerState,
  ],
  ...[
    agent.ToolExecutor,
    agent.ExecutionContext,
    agent.ActionResult,
    agent.Reflector,
    agent.AgentResult,
    agent.ModelCall,
  ],
  ...[agent.TokenUsage, agent.MemoryChange, agent.Provenance, agent.Event, agent.EventHandler, agent.AgentHooks],
  ...[
    agent.LLMClient,
    agent.ModelProvider,
    agent.TokenChunk,
    agent.CallOptions,
    agent.StreamOptions,
    agent.ModelResponse,
  ],
  ...[
    agent.MemoryClient,
    agent.DatabaseClient,
    agent.PromptStore,
    agent.PromptTemplate,
    agent.SafetyPolicy,
    agent.Connector,
  ],
  ...[
    agent.AgentFunction,
    agent.SessionStore,
    agent.PermissionAnswer,
    console_.ColorScheme,
    host.Host,
    metrics.AgentMetrics,
  ],
];

/** The value names, by the entry that exports them. */
const VALUES: readonly (readonly [object, readonly string[]])[] = [
  [
    agent,
    [
      ...[
        'AgentSession',
        'AgentContext',
        'ResourceMap',
        'ResourceKey',
        'ToolRegistry',
        'ToolResult',
        'PermissionRule',
        'PermissionManager',
      ],
      ...[
        'AgentRuntime',
        'AgentInternals',
        'Agent',
        'AgentService',
        'ActiveSession',
        'AgentRunner',
        'Message',
        'SafetyLayer',
        'Subscription',
      ],
      ...[
        'modelPlanner',
        'scriptedPlanner',
        'planReflector',
        'FileSessionStore',
        'MemorySessionStore',
        'DatabaseSessionStore',
        'AgentError',
      ],
      ...['ToolRetryableError', 'ToolFailedError', 'ToolFatalError', 'tool', 'subAgentTool'],
    ],
  ],
  [tools, ['bashTool', 'readTool', 'editTool', 'writeTool', 'globTool', 'grepTool', 'todoTool']],
  [connectors, ['httpConnector', 'kvConnector', 'sqlConnector', 'shellConnector', 'connectorTool']],
  [console_, ['ConsoleRenderer', 'colorScheme', 'askUser']],
  [llm, ['anthropic', 'openaiCompatible', 'fromAiSdkModel', 'byPriority', 'byCost', 'byLatency']],
  [memory, ['InMemoryMemoryClient', 'InMemoryDatabaseClient']],
  [sqlite, ['SqliteMemoryClient', 'SqliteDatabaseClient', 'sqliteDriver']],
  [redis, ['RedisMemoryClient', 'RedisDatabaseClient']],
  [postgres, ['PostgresMemoryClient', 'PostgresDatabaseClient', 'postgresDriver']],
  [prompts, ['DatabasePromptStore', 'fstringEngine']],
  [safety, ['SafetyLayer', 'patternFilter', 'RateLimiter']],
  [security, ['Roles', 'encrypted', 'staticKeys']],
  [replay, ['Cassette', 'recordingEffects', 'replayingEffects', 'seededEffects']],
  [metrics, ['metricsOf', 'traceTo']],
  [testing, ['ScriptedModel', 'Cassette']],
  [host, ['localHost', 'memoryHost', 'deniedHost', 'secret']],
];

describe('the names of the source documents', () => {
  it('all exist', () => {
    const types: Types | null = null;
    expect(types).toBeNull();
    for (const [entry, names] of VALUES) expect(names.filter((name) => !(name in entry))).toEqual([]);
  });

  it('have the documented methods', () => {
    const methods = (of: { readonly prototype: object }) => Object.getOwnPropertyNames(of.prototype);
    expect(methods(agent.AgentSession)).toEqual(
      expect.arrayContaining([
        'addMessage',
        'getHistory',
        'editHistory',
        'setMetadata',
        'getMetadata',
        'addChildSession',
        'getChildSessions',
        'save',
        'fork',
      ]),
    );
    expect(Object.getOwnPropertyNames(agent.AgentSession)).toEqual(
      expect.arrayContaining(['subagent', 'load', 'listAll']),
    );
    expect(methods(agent.AgentRuntime)).toEqual(
      expect.arrayContaining(['spawn', 'resume', 'get', 'isRunning', 'shutdown', 'shutdownAll', 'listActive']),
    );
    expect(methods(agent.AgentContext)).toEqual(
      expect.arrayContaining(['withToolUseId', 'setMetadata', 'getMetadata', 'insertResource', 'getResource']),
    );
    expect(methods(agent.ToolRegistry)).toEqual(
      expect.arrayContaining(['register', 'get', 'getDefinitions', 'execute', 'listTools', 'getCategory']),
    );
    expect(methods(agent.PermissionManager)).toEqual(
      expect.arrayContaining(['addRule', 'addRules', 'check', 'addSessionRule', 'clearSessionRules', 'saveToFile']),
    );
    expect(Object.getOwnPropertyNames(agent.PermissionManager)).toContain('loadFromFile');
    expect(methods(agent.AgentInternals)).toEqual(
      expect.arrayContaining(['receive', 'send', 'setState', 'askPermission', 'model', 'tools', 'spawnChild']),
    );
    expect(methods(agent.Agent)).toEqual(
      expect.arrayContaining(['run', 'runOnce', 'createSession', 'stop', 'on', 'health', 'addSubAgent']),
    );
    expect(methods(agent.ActiveSession)).toEqual(expect.arrayContaining(['run', 'abort']));
  });
});
