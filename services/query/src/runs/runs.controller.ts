import { COMMANDS } from '@agentlens/contracts';
import {
  clearRunLabel,
  deleteRun,
  getLightRunTimeline,
  getRun,
  getRunFacets,
  getRunLabels,
  getRunTimeline,
  getRunTree,
  listRunDecisions,
  listRunEvents,
  listRuns,
  type RequestOf,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, ProblemException, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { answerOf } from '../http/page.ts';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { RunDetailQueries } from './run-detail.queries.ts';
import { RunFacetsQueries } from './run-facets.queries.ts';
import { RunTimelineQueries } from './run-timeline.queries.ts';
import { RunTreeQueries } from './run-tree.queries.ts';
import { RunsQueries } from './runs.queries.ts';

@Controller()
export class RunsController {
  constructor(
    private readonly runs: RunsQueries,
    private readonly details: RunDetailQueries,
    private readonly timelines: RunTimelineQueries,
    private readonly trees: RunTreeQueries,
    private readonly facets: RunFacetsQueries,
    private readonly commands: Commands,
    private readonly names: KeyNames,
  ) {}

  @Serves(listRuns)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listRuns>) {
    const { items, ...page } = await this.runs.list(caller.tenantId, query);
    return { runs: items, ...page };
  }

  @Serves(getRunFacets)
  countFacets(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof getRunFacets>) {
    return this.facets.of(tenantId, query);
  }

  @Serves(getRun)
  async get(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getRun>) {
    return foundOr404('Run', await this.details.get(caller.tenantId, id));
  }

  @Serves(deleteRun)
  async delete(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id: runId }, query: { reason } }: RequestOf<typeof deleteRun>,
  ) {
    const { tenantId } = caller;
    if (foundOr404('Run', await this.details.isActive(tenantId, runId))) {
      throw new ProblemException(409, 'The run is running', {
        hint: `End or kill it first (POST /api/control), or wait until it has not reported for five minutes.`,
      });
    }
    const { author } = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.deleteRun, { tenantId, runId, author, reason });
  }

  @Serves(listRunEvents)
  async events(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, query }: RequestOf<typeof listRunEvents>,
  ) {
    const page = await this.runs.events(caller.tenantId, id, query);
    const { items, ...rest } = foundOr404('Run', page);
    return answerOf('events', items, rest);
  }

  @Serves(listRunDecisions)
  async decisions(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, query }: RequestOf<typeof listRunDecisions>,
  ) {
    const page = await this.runs.decisions(caller.tenantId, id, query);
    const { items, ...rest } = foundOr404('Run', page);
    return { decisions: items, ...rest };
  }

  @Serves(getRunTimeline)
  async timeline(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, query }: RequestOf<typeof getRunTimeline>,
  ) {
    const page = await this.timelines.page(caller.tenantId, id, query);
    const { items, ...rest } = foundOr404('Run', page);
    return { entries: items, ...rest };
  }

  @Serves(getLightRunTimeline)
  async lightTimeline(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, query }: RequestOf<typeof getLightRunTimeline>,
  ) {
    const page = await this.timelines.lightPage(caller.tenantId, id, query);
    const { items, ...rest } = foundOr404('Run', page);
    return { entries: items, ...rest };
  }

  @Serves(getRunTree)
  async tree(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getRunTree>) {
    return foundOr404('Run', await this.trees.get(caller.tenantId, id));
  }

  @Serves(getRunLabels)
  async labels(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { params: { id } }: RequestOf<typeof getRunLabels>,
  ) {
    const { runIds, sessionId } = foundOr404('Run', await this.trees.line(tenantId, id));
    const { labels } = await this.commands.forward(COMMANDS.readLabels, { tenantId, runIds: [...runIds], sessionId });
    return { root: runIds.at(-1) ?? id, labels };
  }

  @Serves(clearRunLabel)
  async clearLabel(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id, label }, body: { reason } }: RequestOf<typeof clearRunLabel>,
  ) {
    const { tenantId } = caller;
    const { runIds, sessionId } = foundOr404('Run', await this.trees.line(tenantId, id));
    const { author } = await this.names.authorOf(caller);
    const ofRun = { tenantId, runIds: [...runIds], sessionId };
    return this.commands.forward(COMMANDS.clearLabel, { ...ofRun, label, reason, author });
  }
}
