import { detectDeletions } from '#activities/connectors/detect-deletions.ts';
import { fetchPages } from '#activities/connectors/fetch-pages.ts';
import { finishSync } from '#activities/connectors/finish-sync.ts';
import { createTextExtractor } from '#adapters/knowledge/text-extractor.ts';
import type { SourceProvider } from '#adapters/sources/provider.ts';
import { planRun } from '#domain/knowledge/connectors/plan-run.ts';
import type { FinishSyncInput } from '#workflows/sync-connector/messages.ts';
import type { KnowledgeWorld } from '../knowledge-world.ts';
import { noOtherWork } from '../no-other-work.ts';
import { ConnectorSpace, testProviders, type ReachableSource } from './connector-space.ts';
import { MemorySource, memoryProvider } from './memory-source.ts';

const extractor = createTextExtractor();

/** The steps of a connector's runs, one by one and without Temporal. */
export async function openSteps(
  world: KnowledgeWorld,
  provider: SourceProvider,
  { reach = {}, ...given }: { providerSlug: string; scopeConfig: unknown; reach?: ReachableSource },
) {
  const sources = testProviders([provider], reach);
  const space = await ConnectorSpace.create(world, sources, given);
  const { tenantId, connectorId } = space.ids;
  const deps = { unitOfWork: world.unitOfWork, sources, extractor, bulk: noOtherWork };
  let runId = '';
  const ids = () => ({ tenantId, connectorId, runId });
  const begin = async () => {
    ({ id: runId } = await space.request());
    await world.unitOfWork.inTenant(tenantId, (em) => planRun(em, connectorId));
    return runId;
  };
  const fetch = (signal = AbortSignal.timeout(240_000)) => fetchPages(deps, ids(), signal);
  const detect = (signal = AbortSignal.timeout(60_000)) =>
    detectDeletions(deps, { ...ids(), after: null }, signal);
  const finish = (end: FinishSyncInput['end'] = 'done') => finishSync(deps, { ...ids(), end });
  const whole = async () => {
    await begin();
    await fetch();
    await detect();
    return finish();
  };
  return { space, begin, fetch, detect, finish, whole };
}

/** The same for a scripted source. */
export async function openMemorySteps(world: KnowledgeWorld) {
  const source = new MemorySource();
  source.pageSize = 1_000;
  const provider = memoryProvider(new Map([['m', source]]));
  return {
    source,
    ...(await openSteps(world, provider, { providerSlug: 'memory', scopeConfig: { name: 'm' } })),
  };
}
