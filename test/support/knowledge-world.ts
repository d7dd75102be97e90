import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { createContext, type Context } from '#domain/foundation/access/context.ts';
import { permissions, type Permission } from '#domain/foundation/access/permissions.ts';
import type { Dispatch } from '#domain/foundation/durable/messages.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { QuestionAccess } from '#domain/knowledge/search/question-vector.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import type { ProvidedPostgres } from './provided.ts';
import { release } from './release.ts';

export interface SpaceFixture {
  tenantId: string;
  spaceId: string;
  principalId: string;
}

/** A database with a way to act in it as any principal. */
export interface KnowledgeWorld {
  database: TestDatabase;
  /** Of the runtime role. */
  url: string;
  secrets: Secrets;
  unitOfWork: UnitOfWork;
  /** Bypasses row-level security, for looking. */
  admin: Client;
  addSpace(tenantId?: string): Promise<SpaceFixture>;
  act<T>(
    space: SpaceFixture,
    work: (ctx: Context) => Promise<T>,
    granted?: readonly Permission[],
  ): Promise<T>;
  /** For searches in the tenant of a space. */
  access(space: SpaceFixture, embedders?: Embedders): QuestionAccess;
  dispatches: Dispatch[];
  stop(): Promise<void>;
}

export async function openWorld({
  masterKey = randomBytes(32).toString('base64'),
  server,
  dispatch = 'saved',
  unitOfWorkOf = ({ orm, unitOfWork }) => (dispatch === 'saved' ? unitOfWork : new UnitOfWork(orm)),
}: {
  masterKey?: string;
  server?: ProvidedPostgres;
  /** Whether messages to workflows are saved in `dispatches`, or sent by the relays of gateways and workers. */
  dispatch?: 'saved' | 'relays';
  unitOfWorkOf?: (database: TestDatabase) => UnitOfWork;
} = {}): Promise<KnowledgeWorld> {
  const database = await createTestDatabase(server);
  const unitOfWork = unitOfWorkOf(database);
  const admin = new Client({ connectionString: database.adminUrl });
  await admin.connect();
  const secrets = new Secrets(masterKey);
  const world: KnowledgeWorld = {
    database,
    url: database.url,
    secrets,
    unitOfWork,
    admin,
    dispatches: database.dispatches,
    addSpace: async (known) => {
      const [tenantId, spaceId, principalId] = [known ?? newId(), newId(), newId()];
      if (known === undefined) {
        await admin.query(`insert into tenants (tenant_id, slug, name) values ($1, $2, 'T')`, [
          tenantId,
          newId(),
        ]);
      }
      await admin.query(`insert into principals (tenant_id, id, type) values ($1, $2, 'user')`, [
        tenantId,
        principalId,
      ]);
      await admin.query(`insert into spaces (tenant_id, id, name) values ($1, $2, 'S')`, [tenantId, spaceId]);
      return { tenantId, spaceId, principalId };
    },
    access: ({ tenantId, principalId }, embedders) => ({
      principalId,
      inTransaction: (work) => unitOfWork.inTenant(tenantId, work),
      embedders,
      signal: new AbortController().signal,
    }),
    act: (space, work, granted = permissions) =>
      unitOfWork.inTenant(space.tenantId, (em) =>
        work(
          createContext({
            em,
            secrets,
            caller: {
              ...space,
              apiKeyId: null,
              keyPermissions: null,
              origin: { via: 'api', requestId: 'req_test' },
              principalType: 'user',
              isPlatform: false,
              isMember: true,
              granted: new Set(granted),
            },
          }),
        ),
      ),
    stop: async () => {
      await admin.end();
      await database.drop();
      release(world);
    },
  };
  return world;
}
