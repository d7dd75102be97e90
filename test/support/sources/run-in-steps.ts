import { checkSource } from '#activities/connectors/check-source.ts';
import { detectDeletions } from '#activities/connectors/detect-deletions.ts';
import { fetchPages } from '#activities/connectors/fetch-pages.ts';
import { finishSync } from '#activities/connectors/finish-sync.ts';
import type { SourceProvider } from '#adapters/sources/provider.ts';
import { planRun } from '#domain/knowledge/connectors/plan-run.ts';
import type { KnowledgeWorld } from '../knowledge-world.ts';
import { noOtherWork } from '../no-other-work.ts';
import { ConnectorSpace, testProviders, type ReachableSource } from './connector-space.ts';
import { extractor } from '../extractor.ts';

/** The steps of runs of one connector, called one by one, as the workflow calls them. */
export class RunInSteps {
  readonly space: ConnectorSpace;
  readonly #deps;
  #runId = '';

  private constructor(space: ConnectorSpace, world: KnowledgeWorld) {
    this.space = space;
    const { sources } = space;
    this.#deps = {
      unitOfWork: world.unitOfWork,
      sources,
      extractor,
      bulk: noOtherWork,
    };
  }

  static async open(
    world: KnowledgeWorld,
    provider: SourceProvider,
    given: { providerSlug: string; scopeConfig: unknown } & ReachableSource,
  ): Promise<RunInSteps> {
    const { providerSlug, scopeConfig } = given;
    const sources = testProviders([provider], given);
    return new RunInSteps(await ConnectorSpace.create(world, sources, { providerSlug, scopeConfig }), world);
  }

  get runId(): string {
    return this.#runId;
  }

  get #ids() {
    const { tenantId, connectorId } = this.space.ids;
    return { tenantId, connectorId, runId: this.#runId };
  }

  async begin(): Promise<string> {
    this.#runId = (await this.space.request()).id;
    const { tenantId, connectorId } = this.space.ids;
    await this.#deps.unitOfWork.inTenant(tenantId, (em) => planRun(em, connectorId));
    return this.#runId;
  }

  /** @param by what the version of the workflow says of itself */
  check(by: { inSteps?: true } = { inSteps: true }) {
    return checkSource(this.#deps, { ...this.#ids, ...by }, AbortSignal.timeout(60_000));
  }

  fetch(signal = AbortSignal.timeout(240_000)) {
    return fetchPages(this.#deps, this.#ids, signal);
  }

  detect(signal = AbortSignal.timeout(60_000)) {
    return detectDeletions(this.#deps, this.#ids, signal);
  }

  finish(end: 'done' | 'cancelled' | 'failed' = 'done') {
    return finishSync(this.#deps, { ...this.#ids, end });
  }

  /** A run without incidents. */
  async whole() {
    await this.begin();
    await this.fetch();
    await this.detect();
    return this.finish();
  }
}
