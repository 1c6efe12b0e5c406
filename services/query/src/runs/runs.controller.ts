import { getRun, getRunTimeline, getRunTree, listRunDecisions, listRunEvents, listRuns } from '@agentlens/operations';
import { type Caller, CurrentCaller, parseOr400, Serves } from '@agentlens/platform';
import { Controller, Param, Query } from '@nestjs/common';
import { foundOr404 } from '../http/found-or-404.ts';
import { answerOf } from '../http/written-page.ts';
import { RunDetailQueries } from './run-detail.queries.ts';
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
  ) {}

  @Serves(listRuns)
  async list(@CurrentCaller() caller: Caller, @Query() query: unknown) {
    const { items, ...page } = await this.runs.list(caller.tenantId, parseOr400(listRuns.query, query));
    return { runs: items, ...page };
  }

  @Serves(getRun)
  async get(@CurrentCaller() caller: Caller, @Param() params: unknown) {
    const { id } = parseOr400(getRun.params, params);
    return foundOr404('Run', await this.details.get(caller.tenantId, id));
  }

  @Serves(listRunEvents)
  async events(@CurrentCaller() caller: Caller, @Param() params: unknown, @Query() query: unknown) {
    const { id } = parseOr400(listRunEvents.params, params);
    const page = await this.runs.events(caller.tenantId, id, parseOr400(listRunEvents.query, query));
    const { items, ...rest } = foundOr404('Run', page);
    return answerOf('events', items, rest);
  }

  @Serves(listRunDecisions)
  async decisions(@CurrentCaller() caller: Caller, @Param() params: unknown, @Query() query: unknown) {
    const { id } = parseOr400(listRunDecisions.params, params);
    const page = await this.runs.decisions(caller.tenantId, id, parseOr400(listRunDecisions.query, query));
    const { items, ...rest } = foundOr404('Run', page);
    return { decisions: items, ...rest };
  }

  @Serves(getRunTimeline)
  async timeline(@CurrentCaller() caller: Caller, @Param() params: unknown, @Query() query: unknown) {
    const { id } = parseOr400(getRunTimeline.params, params);
    const page = await this.timelines.page(caller.tenantId, id, parseOr400(getRunTimeline.query, query));
    const { items, ...rest } = foundOr404('Run', page);
    return { entries: items, ...rest };
  }

  @Serves(getRunTree)
  async tree(@CurrentCaller() caller: Caller, @Param() params: unknown) {
    const { id } = parseOr400(getRunTree.params, params);
    return foundOr404('Run', await this.trees.get(caller.tenantId, id));
  }
}
