import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { prefetchRun } from './run/use-run.ts';
import { NotFoundPage } from './shell/not-found.tsx';
import { Shell } from './shell/shell.tsx';
import { knowing, parseSearch, stringifySearch } from './url/search.ts';

const root = createRootRouteWithContext<{ readonly queries: QueryClient }>()({
  component: Shell,
  notFoundComponent: NotFoundPage,
});

/** A route with the search parameters that its page knows. Others are dropped. */
const route = <P extends string, N extends string>(
  path: P,
  component: Parameters<typeof lazyRouteComponent>[0],
  name: string,
  ...search: N[]
) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(component, name),
    validateSearch: knowing(...search),
  });

const moved = <P extends string>(path: P, to: (id: string) => string) =>
  createRoute({
    getParentRoute: () => root,
    path,
    beforeLoad: ({ params }) => {
      throw redirect({ href: to((params as Record<string, string>).id ?? '') });
    },
  });

const range = ['range', 'from', 'to'] as const;

const routes = [
  route('/', () => import('./now/now-page.tsx'), 'NowPage', ...range),
  route(
    '/runs',
    () => import('./runs/runs-page.tsx'),
    'RunsPage',
    'q',
    'status',
    'agent',
    'model',
    'tag',
    'rule',
    'cost',
    'session',
    'actor',
    'at',
    'took',
    'has',
    'sort',
    'order',
    ...range,
  ),
  route('/runs/compare', () => import('./run/compare-page.tsx'), 'ComparePage', 'a', 'b', 'show'),
  createRoute({
    getParentRoute: () => root,
    path: '/runs/$id',
    component: lazyRouteComponent(() => import('./run/run-page.tsx'), 'RunPage'),
    validateSearch: knowing('view', 'step', 'tab', 'list', 'gaps', 'show', 'q'),
    loader: ({ params, context, preload }) => {
      // A pointer over a link is not worth reading a long run.
      if (!preload) prefetchRun(context.queries, params.id);
    },
  }),
  route('/live', () => import('./live/live-page.tsx'), 'LivePage', 'agent', 'kind', 'q'),
  route(
    '/decisions',
    () => import('./decisions/decisions-page.tsx'),
    'DecisionsPage',
    'show',
    'agent',
    'rule',
    'tool',
    'at',
    ...range,
  ),
  route('/guardrails', () => import('./rules/rules-page.tsx'), 'RulesPage', 'mode', 'q', 'agent', 'action'),
  route('/guardrails/new', () => import('./rules/editor-page.tsx'), 'NewRulePage', 'step', 'run', 'tool', 'template'),
  route('/guardrails/$id', () => import('./rules/rule-page.tsx'), 'RulePage', 'tab'),
  moved('/guardrails/$id/edit', (id) => `guardrails/${id}?tab=edit`),
  route('/approvals', () => import('./approvals/approvals-page.tsx'), 'ApprovalsPage', 'id'),
  route('/alerts', () => import('./alerts/alerts-page.tsx'), 'AlertsPage', 'status', 'kind', 'agent', 'id', ...range),
  route('/agents', () => import('./agents/agents-page.tsx'), 'AgentsPage', 'q'),
  route('/agents/$id', () => import('./agents/agent-page.tsx'), 'AgentPage'),
  route('/spend', () => import('./spend/spend-page.tsx'), 'SpendPage', 'period', 'budget', 'by'),
  route('/breakers', () => import('./breakers/breakers-page.tsx'), 'BreakersPage'),
  route('/deliveries', () => import('./deliveries/deliveries-page.tsx'), 'DeliveriesPage', 'result', 'rule', 'id'),
  route('/audit', () => import('./audit/audit-page.tsx'), 'AuditPage', 'target', 'actor', ...range),
  route('/system', () => import('./system/system-page.tsx'), 'SystemPage'),
  route('/settings', () => import('./settings/settings-page.tsx'), 'SettingsPage'),
  route('/settings/people', () => import('./people/people-page.tsx'), 'PeoplePage'),
  route('/settings/teams', () => import('./people/teams-page.tsx'), 'TeamsPage'),
  route('/settings/providers', () => import('./people/providers-page.tsx'), 'ProvidersPage'),
  route('/settings/policies', () => import('./policies/policies-page.tsx'), 'PoliciesPage'),
  route('/settings/connections', () => import('./gateway/connections-page.tsx'), 'ConnectionsPage'),
  route('/settings/log', () => import('./log/log-page.tsx'), 'LogPage'),
  route(
    '/model-calls',
    () => import('./gateway/model-calls-page.tsx'),
    'ModelCallsPage',
    'run',
    'agent',
    'model',
    'connection',
    'show',
    'id',
    ...range,
  ),
  route('/you/login', () => import('./you/login-page.tsx'), 'LoginPage', 'challenge', 'name', 'via'),
  route('/you', () => import('./you/you-page.tsx'), 'YouPage'),
  route('/channels', () => import('./channels/channels-page.tsx'), 'ChannelsPage'),
  route('/link/slack', () => import('./channels/channels-page.tsx'), 'LinkSlackPage'),
  route('/connect', () => import('./connect/connect-page.tsx'), 'ConnectPage', 'door'),
  route('/more', () => import('./shell/more-page.tsx'), 'MorePage'),
  route('/gallery', () => import('./gallery/gallery-page.tsx'), 'GalleryPage'),
  createRoute({
    getParentRoute: () => root,
    path: '/sign-in',
    beforeLoad: () => {
      throw redirect({ href: './' });
    },
  }),
];

export function makeRouter(queries: QueryClient) {
  return createRouter({
    context: { queries },
    routeTree: root.addChildren(routes),
    basepath: new URL(document.baseURI).pathname,
    parseSearch: parseSearch,
    stringifySearch,
    defaultPreload: 'intent',
    scrollRestoration: true,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    readonly router: ReturnType<typeof makeRouter>;
  }
}
