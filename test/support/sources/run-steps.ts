import type { SourceProvider } from '#adapters/sources/provider.ts';
import type { KnowledgeWorld } from '../knowledge-world.ts';
import { MemorySource, memoryProvider } from './memory-source.ts';
import { RunInSteps } from './run-in-steps.ts';

/** The steps of a connector's runs as functions. */
export async function openSteps(
  world: KnowledgeWorld,
  provider: SourceProvider,
  given: Parameters<typeof RunInSteps.open>[2],
) {
  const run = await RunInSteps.open(world, provider, given);
  return {
    space: run.space,
    begin: () => run.begin(),
    check: (by?: Parameters<RunInSteps['check']>[0]) => run.check(by),
    fetch: (signal?: AbortSignal) => run.fetch(signal),
    detect: (signal?: AbortSignal) => run.detect(signal),
    finish: (end?: Parameters<RunInSteps['finish']>[0]) => run.finish(end),
    whole: () => run.whole(),
  };
}

/** The same for a scripted source, whose documents are in one page. */
export async function openMemorySteps(world: KnowledgeWorld) {
  const source = new MemorySource();
  source.pageSize = 1_000;
  const provider = memoryProvider(new Map([['m', source]]));
  return {
    source,
    ...(await openSteps(world, provider, { providerSlug: 'memory', scopeConfig: { name: 'm' } })),
  };
}
