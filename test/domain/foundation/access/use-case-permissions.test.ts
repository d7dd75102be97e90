import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '#domain/foundation/access/context.ts';
import { permissions, type Permission } from '#domain/foundation/access/permissions.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteCollection } from '#domain/knowledge/collections/delete-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import { listCollections } from '#domain/knowledge/collections/list-collections.ts';
import { listDocuments } from '#domain/knowledge/collections/list-documents.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { listAllowedModels } from '#domain/capabilities/models/list-allowed-models.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import { deleteResponse } from '#domain/responses/end/delete-response.ts';
import { pageInputItems } from '#domain/responses/read/page-input-items.ts';
import { listServers, readServer } from '#domain/capabilities/tools/read-servers.ts';
import { refreshServer } from '#domain/capabilities/tools/refresh-server.ts';
import { registerServer } from '#domain/capabilities/tools/register-server.ts';
import { removeServer } from '#domain/capabilities/tools/remove-server.ts';
import { updateServer } from '#domain/capabilities/tools/update-server.ts';
import { openEngine, requestOf, type Engine } from '../../../support/engine.ts';

let engine: Engine;
let collectionId: string;
let documentId: string;
let responseId: string;
let serverId: string;

const newServer = {
  slug: 'crm',
  displayName: 'CRM',
  transportType: 'streamable_http',
  url: 'https://tools.example.com/mcp',
  iconUrl: null,
  credential: null,
  idempotency: null,
};

beforeAll(async () => {
  engine = await openEngine();
  collectionId = (await engine.act((ctx) => createCollection(ctx, { name: 'C' }))).collection.id;
  documentId = (await engine.act((ctx) => uploadDocument(ctx, upload()))).document.id;
  responseId = await engine.create();
  serverId = (await engine.act((ctx) => registerServer(ctx, newServer))).server.id;
});
afterAll(() => engine.stop());

const upload = () => ({
  collectionId,
  filename: 'a.txt',
  mediaType: 'text/plain' as const,
  content: 'words',
});
const limits = { maxActivePerSpace: 100, retentionSeconds: 60 };

/**
 * The permission that each use case requires. A response belongs to another principal here: one's own needs
 * no grant.
 */
const cases: { name: string; permission: Permission; run: (ctx: Context) => Promise<unknown> }[] = [
  {
    name: 'registerServer',
    permission: 'mcp_servers.create',
    run: (ctx) => registerServer(ctx, newServer),
  },
  {
    name: 'listServers',
    permission: 'mcp_servers.read',
    run: (ctx) => listServers(ctx, { limit: 1, cursor: null }),
  },
  {
    name: 'readServer',
    permission: 'mcp_servers.read',
    run: (ctx) => readServer(ctx, { serverId }),
  },
  {
    name: 'updateServer',
    permission: 'mcp_servers.update',
    run: (ctx) => updateServer(ctx, { serverId, enabledTools: [] }),
  },
  {
    name: 'refreshServer',
    permission: 'mcp_servers.connect',
    run: (ctx) => refreshServer(ctx, { serverId }),
  },
  {
    name: 'removeServer',
    permission: 'mcp_servers.delete',
    run: (ctx) => removeServer(ctx, { serverId }),
  },
  {
    name: 'createResponse',
    permission: 'responses.create',
    run: (ctx) => createResponse(ctx, requestOf(engine.world), { responseId: newResponseId(), limits }),
  },
  {
    name: 'cancelResponse',
    permission: 'responses.cancel',
    run: (ctx) => cancelResponse(ctx, { responseId }),
  },
  {
    name: 'deleteResponse',
    permission: 'responses.delete',
    run: (ctx) => deleteResponse(ctx, { responseId }),
  },
  {
    name: 'pageInputItems',
    permission: 'responses.read',
    run: (ctx) => pageInputItems(ctx, { responseId, limit: 1, order: 'asc', after: null }),
  },
  {
    name: 'listAllowedModels',
    permission: 'spaces.read',
    run: (ctx) => listAllowedModels(ctx, { spaceId: engine.world.spaceId }),
  },
  {
    name: 'createCollection',
    permission: 'collections.create',
    run: (ctx) => createCollection(ctx, { name: 'D' }),
  },
  {
    name: 'listCollections',
    permission: 'collections.read',
    run: (ctx) => listCollections(ctx, { limit: 1, cursor: null }),
  },
  { name: 'uploadDocument', permission: 'documents.write', run: (ctx) => uploadDocument(ctx, upload()) },
  {
    name: 'listDocuments',
    permission: 'documents.read',
    run: (ctx) => listDocuments(ctx, { collectionId, limit: 1, cursor: null }),
  },
  {
    name: 'deleteDocument',
    permission: 'documents.delete',
    run: (ctx) => deleteDocument(ctx, { collectionId, documentId }),
  },
  {
    name: 'deleteCollection',
    permission: 'collections.delete',
    run: (ctx) => deleteCollection(ctx, { collectionId }),
  },
];

const stranger = '01a1fe5d-0000-7000-8000-000000000000';

describe('a use case', () => {
  it.each(cases)('$name refuses a caller without $permission, and names it', async ({ permission, run }) => {
    const granted = new Set(permissions.filter((each) => each !== permission));
    await expect(engine.act(run, { granted, principalId: stranger })).rejects.toMatchObject({
      code: 'missing_permission',
      message: `Missing permission ${permission} in this space.`,
    });
  });
});
