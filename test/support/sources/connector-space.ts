import type { SourceProvider } from '#adapters/sources/provider.ts';
import { createSourceProviders } from '#adapters/sources/create-source-providers.ts';
import { createGuardedConnect } from '#adapters/egress/guarded-connect.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createCredential } from '#domain/capabilities/credentials/create-credential.ts';
import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { updateCredential } from '#domain/capabilities/credentials/update-credential.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { cancelSync } from '#domain/knowledge/connectors/cancel-sync.ts';
import { createConnector, type CreateConnector } from '#domain/knowledge/connectors/create-connector.ts';
import { deleteConnector } from '#domain/knowledge/connectors/delete-connector.ts';
import { listSourceDocuments } from '#domain/knowledge/connectors/list-source-documents.ts';
import { readConnector } from '#domain/knowledge/connectors/find-connector.ts';
import { listRuns } from '#domain/knowledge/connectors/find-run.ts';
import { requestSync, type RequestSync } from '#domain/knowledge/connectors/request-sync.ts';
import type { SourceProviders } from '#domain/knowledge/connectors/source-providers.ts';
import type { ConnectorChange } from '#domain/knowledge/connectors/plan-update.ts';
import { updateConnector } from '#domain/knowledge/connectors/update-connector.ts';
import { searchKnowledge } from '#domain/knowledge/search/search-knowledge.ts';
import type { KnowledgeWorld, SpaceFixture } from '../knowledge-world.ts';
import type { SourceServer } from './source-server.ts';

export interface ReachableSource {
  allowedOrigins?: readonly string[];
  roots?: Readonly<Record<string, string>>;
}

/** The registry of providers of a test, without stored credentials. */
export function testProviders(
  providers: readonly SourceProvider[],
  { allowedOrigins = [], roots = {} }: ReachableSource = {},
): SourceProviders {
  return createSourceProviders({
    fetch: createGuardedFetch(allowedOrigins),
    connect: createGuardedConnect(allowedOrigins),
    roots: new Map(Object.entries(roots)),
    openCredential: () => Promise.resolve(null),
    stored: { read: () => Promise.reject(new Error('no credential')), refused: () => {} },
    providers,
  });
}

type GivenConnector = Pick<CreateConnector, 'providerSlug' | 'scopeConfig'> &
  Partial<CreateConnector> & { credential?: SourceServer['credential'] };

/** A connector in a collection of a space of its own, acted on by the use cases. */
export class ConnectorSpace {
  readonly world: KnowledgeWorld;
  readonly sources: SourceProviders;
  readonly fixture: SpaceFixture;
  readonly collectionId: string;
  connectorId = '';
  credentialId: string | null = null;

  private constructor(parts: Pick<ConnectorSpace, 'world' | 'sources' | 'fixture' | 'collectionId'>) {
    this.world = parts.world;
    this.sources = parts.sources;
    this.fixture = parts.fixture;
    this.collectionId = parts.collectionId;
  }

  static async create(
    world: KnowledgeWorld,
    sources: SourceProviders,
    { credential = null, ...given }: GivenConnector,
  ): Promise<ConnectorSpace> {
    const fixture = await world.addSpace();
    const { collection } = await world.act(fixture, (ctx) => createCollection(ctx, { name: 'C' }));
    const space = new ConnectorSpace({ world, sources, fixture, collectionId: collection.id });
    if (credential !== null) {
      space.credentialId = await space.#storeCredential(credential);
    }
    const { connector } = await world.act(fixture, (ctx) =>
      createConnector(ctx, sources, {
        collectionId: collection.id,
        credentialId: space.credentialId,
        syncSchedule: { type: 'manual' },
        idempotency: null,
        ...given,
      }),
    );
    space.connectorId = connector.id;
    return space;
  }

  async #storeCredential({ origin, value }: NonNullable<SourceServer['credential']>): Promise<string> {
    const { kind, ...members } = value;
    const input = { name: 'Source', kind, origin, value: members, idempotency: null };
    const { credential } = await this.world.act(this.fixture, (ctx) => createCredential(ctx, input));
    return credential.id;
  }

  /** Rotates the stored credential. */
  async rotate(current: CredentialValue): Promise<void> {
    const { credentialId } = this;
    const value = Object.fromEntries(Object.entries(current).filter(([member]) => member !== 'kind'));
    if (credentialId === null) throw new Error('The connector has no credential.');
    await this.world.act(this.fixture, (ctx) => updateCredential(ctx, { credentialId, value }));
  }

  get ids(): { tenantId: string; connectorId: string } {
    return { tenantId: this.fixture.tenantId, connectorId: this.connectorId };
  }

  get ref(): { collectionId: string; connectorId: string } {
    return { collectionId: this.collectionId, connectorId: this.connectorId };
  }

  read() {
    return this.world.act(this.fixture, (ctx) => readConnector(ctx, this.ref));
  }

  async runs() {
    const page = await this.world.act(this.fixture, (ctx) =>
      listRuns(ctx, { ...this.ref, limit: 100, cursor: null }),
    );
    return page.items;
  }

  async documents() {
    const page = await this.world.act(this.fixture, (ctx) =>
      listSourceDocuments(ctx, { ...this.ref, state: null, limit: 100, cursor: null }),
    );
    return page.items;
  }

  async request(more: Partial<RequestSync> = {}) {
    const { run } = await this.world.act(this.fixture, (ctx) =>
      requestSync(ctx, {
        ...this.ref,
        mode: 'incremental',
        confirmDeletions: false,
        idempotency: null,
        ...more,
      }),
    );
    return run;
  }

  cancel(runId: string) {
    return this.world.act(this.fixture, (ctx) => cancelSync(ctx, { ...this.ref, runId }));
  }

  update(change: Partial<ConnectorChange>) {
    return this.world.act(this.fixture, (ctx) =>
      updateConnector(ctx, this.sources, { ...this.ref, ...change }),
    );
  }

  delete(retainDocuments = false) {
    return this.world.act(this.fixture, (ctx) => deleteConnector(ctx, { ...this.ref, retainDocuments }));
  }

  /** Texts of the passages that a search by keyword finds. */
  async find(query: string): Promise<string[]> {
    const { spaceId } = this.fixture;
    const asked = { spaceId, collectionIds: null, query, limit: 20, alpha: 0 };
    const { passages } = await searchKnowledge(this.world.access(this.fixture), asked);
    return passages.map(({ text }) => text);
  }

  /** Name and text of every searched document. */
  async contents(): Promise<Record<string, string>> {
    const { rows } = await this.world.admin.query<{ name: string; text: string }>(
      `select d.filename as name, string_agg(c.text, ' ' order by c.position) as text
       from documents d join chunks c on c.tenant_id = d.tenant_id and c.document_id = d.id and c.generation = d.generation
       where d.tenant_id = $1 and d.collection_id = $2 group by d.id, d.filename order by d.filename`,
      [this.fixture.tenantId, this.collectionId],
    );
    return Object.fromEntries(rows.map(({ name, text }) => [name, text]));
  }
}
