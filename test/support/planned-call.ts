import { MockActivityEnvironment } from '@temporalio/testing';
import { runCall } from '#activities/responses/run-call.ts';
import type { ToolServerGateway } from '#domain/capabilities/tools/tool-server.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import type { CallKey } from '#domain/responses/record/turn-key.ts';
import type { Engine } from './engine.ts';
import { longTexts } from './long-texts.ts';
import { secrets } from './world.ts';
import { noMetrics } from './no-metrics.ts';

/** A response whose model has called the tool `pay` of the server `crm`; nothing has run the call yet. */
export async function plannedCall(engine: Engine): Promise<CallKey> {
  const responseId = await engine.create();
  const calls = [{ name: 'mcp__crm__pay', arguments: '{}' }];
  await (await engine.attempt(responseId)).commit({ calls, reason: 'tool_calls' });
  return { tenantId: engine.world.tenantId, responseId, iteration: 0, callIndex: 0 };
}

/** One attempt at a call, as Temporal starts it. `database`: of its ledger. */
export function attemptCall(
  engine: Engine,
  toolServers: ToolServerGateway,
  key: CallKey,
  database: Database = engine.database.database,
): Promise<{ outcome: string }> {
  const { unitOfWork } = engine.database;
  const names = { find: () => Promise.resolve([]) };
  const deps = { database, unitOfWork, secrets, toolServers, metrics: noMetrics, names, longTexts };
  return new MockActivityEnvironment().run(() => runCall(deps, key));
}
